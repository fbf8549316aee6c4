import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import type { Notice } from '../../../src/core/missed/missed-pod-events.ts'
import { MISSED_POD_REASONS, type MissedPodReason } from '../../../src/core/missed/missed-pods.ts'
import type { ReadinessCheck } from '../../status-app.ts'
import { contend } from '../lease/lease.ts'
import { type Found, type ScanOptions, scanPods } from './scan.ts'

export interface GuardOptions
  extends Pick<
    ScanOptions,
    'api' | 'knowledge' | 'excludedNamespaces' | 'revision' | 'catalog' | 'pace'
  > {
  /** The Lease that selects the scanning replica, as `NAMESPACE/NAME`. */
  readonly lease: string
  readonly registry: Registry
  readonly log: Logger
  /**
   * Reports whether all namespaces, LimitRanges and ResourceQuotas have been listed once. Before
   * that, pods are not scanned.
   */
  isComplete(): boolean
}

/**
 * Looks for missed pods (pods that requested metrics but run without their observers, or with
 * altered observers) while this replica holds the Lease. The documentation calls this search the
 * scan, and uses the name guard for a policy of the chart.
 */
export interface Guard {
  check(): ReadinessCheck
  stop(): Promise<void>
}

const REASONS = Object.keys(MISSED_POD_REASONS) as readonly MissedPodReason[]

/**
 * Scans for missed pods, counts them in a Prometheus metric, and reports them in Events of their
 * owners and in the log.
 */
export function guard(options: GuardOptions): Guard {
  const { lease: name, registry, log, isComplete, ...others } = options
  const lease = contend({
    ...others,
    lease: name,
    onChange: (isHeld, holder) => {
      const sentence = isHeld
        ? 'this replica looks for missed pods'
        : 'another replica looks for missed pods'
      log.info({ lease: name, holder }, sentence)
    },
    onTrouble: (trouble) =>
      log.warn({ lease: name, trouble }, 'cannot use the Lease for the search for missed pods'),
  })
  const scan = scanPods({
    ...others,
    mayScan: () => lease.isHeld && isComplete(),
    onNotice: (notice) =>
      log.warn(logLine(notice), 'pods requested observers but run without them'),
    onTrouble: (trouble) => log.warn({ trouble }, 'the search for missed pods is incomplete'),
  })
  showFound(registry, scan.current)
  return {
    check: () => ({ name: 'guard', problem: lease.trouble ?? scan.trouble, fatal: false }),
    async stop() {
      scan.stop()
      await lease.stop()
    },
  }
}

function logLine({ reason, namespace, regarding, count }: Notice): object {
  const { kind, name } = regarding
  return { reason, namespace, kind, name, pods: count }
}

/**
 * Adds the Prometheus metric of missed pods. Only the replica that holds the Lease sets this
 * metric, so that pods are not counted twice.
 */
function showFound(registry: Registry, current: () => Found | undefined): void {
  new Gauge({
    name: 'ridealong_unobserved_pods',
    help: 'Pods that requested observers but run without them, by reason; counted by one replica',
    labelNames: ['reason'] as const,
    registers: [registry],
    collect() {
      this.reset()
      const found = current()
      if (found === undefined) return
      for (const reason of REASONS) this.set({ reason }, found.get(reason) ?? 0)
    },
  })
}
