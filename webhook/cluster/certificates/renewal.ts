import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import type { OwnStep } from '../../../certs/own/next-step.ts'
import { isConflict, isMissing } from '../../../src/cluster/api-error.ts'
import { errorMessage } from '../../../src/lib/error-message.ts'
import { type ActOptions, act } from './act.ts'
import type { Observation } from './observe.ts'

const STEPS = ['prepare', 'trust', 'switch'] as const
const OUTCOMES = ['done', 'overtaken', 'failed'] as const

/**
 * Makes the steps of renewals, and reports their outcomes in the log and in a Prometheus metric.
 */
export interface Renewal {
  /** The error of the last step; undefined if it succeeded, or if there is nothing to do. */
  readonly trouble: string | undefined
  /**
   * Makes one step. A step that another replica has made first is not an error.
   *
   * @throws only if the server stops
   */
  take(step: OwnStep, seen: Observation, signal: AbortSignal): Promise<void>
  /** Forgets the last error, because another replica now renews the certificates. */
  rest(): void
}

export interface RenewalOptions extends Omit<ActOptions, 'signal'> {
  readonly registry: Registry
  readonly log: Logger
  /** Aborted when the server stops. */
  readonly stopped: AbortSignal
}

/** Adds the Prometheus metric of the steps to a registry. */
export function createRenewal({ registry, log, stopped, ...options }: RenewalOptions): Renewal {
  const count = countSteps(registry)
  let trouble: string | undefined
  const fail = (kind: Step, reason: string, error: unknown) => {
    stopped.throwIfAborted()
    if (isConflict(error) || isMissing(error)) return count(kind, 'overtaken')
    count(kind, 'failed')
    const problem = `cannot ${VERBS[kind]}: ${errorMessage(error)}`
    if (problem !== trouble)
      log.error({ step: kind, reason, trouble: problem }, 'cannot renew the certificate')
    trouble = problem
  }
  return {
    get trouble() {
      return trouble
    },
    rest() {
      trouble = undefined
    },
    async take(step, seen, signal) {
      const { kind, reason } = step
      if (kind === 'none') {
        trouble = undefined
        return
      }
      try {
        await act(step, seen, { ...options, signal })
        trouble = undefined
        count(kind, 'done')
        log.info({ step: kind, reason }, DONE[kind])
      } catch (error) {
        fail(kind, reason, error)
      }
    },
  }
}

type Step = (typeof STEPS)[number]

const DONE: Readonly<Record<Step, string>> = {
  prepare: 'stored a new certificate, which is not used yet',
  trust: 'wrote caBundle',
  switch: 'the servers use the new certificate',
}

const VERBS: Readonly<Record<Step, string>> = {
  prepare: 'store a new certificate',
  trust: 'write caBundle',
  switch: 'switch to the new certificate',
}

function countSteps(registry: Registry) {
  const steps = new Counter({
    name: 'ridealong_own_certificate_steps_total',
    help: "Steps of renewals of the webhook's own certificates, by step and outcome",
    labelNames: ['step', 'outcome'] as const,
    registers: [registry],
  })
  for (const step of STEPS) for (const outcome of OUTCOMES) steps.inc({ step, outcome }, 0)
  return (step: Step, outcome: (typeof OUTCOMES)[number]): void => steps.inc({ step, outcome })
}
