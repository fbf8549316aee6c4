import type { Evidence } from '../findings/evidence.ts'
import { keepLogs } from '../mpi/mpi-run.ts'
import { keepNcclLogs } from '../nccl/nccl-run.ts'
import { keepTraceLogs } from '../torch/trace-run.ts'
import type { CollectedRun, LogSource } from './gather.ts'
import { readLogFacts } from './programs/log-facts.ts'

/**
 * Returns the logs that are copies of others: logs of one metric and pod that began at the same
 * time, such as the output of `collect` and the same logs as files. Of each, the most complete one
 * is not among them.
 */
export function findCopies(run: CollectedRun): ReadonlySet<string> {
  const facts = readLogFacts(run, (log) => log)
  const groups = Map.groupBy(
    [...run.sources].filter(([, source]) => identityOf(source) !== undefined),
    ([, source]) => identityOf(source),
  )
  const copies = [...groups.values()].flatMap((own) => {
    const whole = own.find(([log]) => facts.get(log)?.isWhole === true) ?? own[0]
    return own.flatMap(([log]) => (log === whole?.[0] ? [] : log))
  })
  return new Set(copies)
}

function identityOf({ place, log }: LogSource): string | undefined {
  const { namespace, pod, metric } = place
  const { started } = log?.metadata ?? {}
  if (pod === null || metric === null || typeof started !== 'string') return undefined
  return JSON.stringify([namespace, pod, metric, started])
}

/** Returns a run without the rows of these logs. */
export function withoutLogs(run: CollectedRun, logs: ReadonlySet<string>): CollectedRun {
  if (logs.size === 0) return run
  const isKept = ({ source }: { readonly source: string }) => !logs.has(source)
  const kept = <Thing extends { readonly source: string }>(things: ReadonlyMap<string, Thing>) =>
    new Map([...things].filter(([, thing]) => isKept(thing)))
  return {
    ...run,
    sources: new Map([...run.sources].filter(([log]) => !logs.has(log))),
    processes: kept(run.processes),
    devices: kept(run.devices),
    sections: new Map(
      [...run.sections].map(([key, one]) => [key, { ...one, tracks: kept(one.tracks) }]),
    ),
    evidence: evidenceWithout(run.evidence, logs),
  }
}

function evidenceWithout(evidence: Evidence, logs: ReadonlySet<string>): Evidence {
  const { sections, ended, profiles, mpi, nccl, traces } = evidence
  const isKept = ({ source }: { readonly source: string }) => !logs.has(source)
  const byLog = <Value>(values: ReadonlyMap<string, Value>) =>
    new Map([...values].filter(([log]) => !logs.has(log)))
  return {
    ...evidence,
    sections: new Map(
      [...sections].map(([key, one]) => {
        const things = new Map([...one.things].filter(([, thing]) => isKept(thing)))
        return [key, { ...one, things }]
      }),
    ),
    ended: byLog(ended),
    profiles: new Map([...profiles].map(([key, one]) => [key, { ...one, logs: byLog(one.logs) }])),
    mpi: keepLogs(mpi, (source) => !logs.has(source)),
    nccl: keepNcclLogs(nccl, (source) => !logs.has(source)),
    traces: keepTraceLogs(traces, (source) => !logs.has(source)),
  }
}
