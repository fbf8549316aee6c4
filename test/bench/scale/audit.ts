/** A request in the audit log of the apiserver. Times are in milliseconds since the epoch. */
export interface AuditedRequest {
  readonly verb: string
  readonly resource: string
  readonly uri: string
  readonly begin: number
  /** The time at which the apiserver had sent its answer; undefined while a watch is open. */
  readonly end: number | undefined
}

/** A search of all pods for missed pods. Times are in milliseconds since the epoch. */
export interface ObservedScan {
  readonly begin: number
  readonly end: number
  /** The time for which the apiserver worked on the requests of the scan. */
  readonly requests: number
  readonly pages: number
}

/** The rule of the audit log: the requests of one user, without their bodies. */
export function auditPolicy(user: string): object {
  return {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [{ level: 'Metadata', users: [user] }, { level: 'None' }],
  }
}

/**
 * Reads an audit log. A watch has an event when it starts and one when it ends, and counts as one
 * request.
 */
export function readAudit(log: string): readonly AuditedRequest[] {
  const requests = new Map<string, AuditedRequest>()
  const lines = log.split('\n')
  // The last line is empty, or the apiserver is still writing it.
  for (const line of lines.slice(0, -1)) {
    const { auditID, stage, verb, requestURI: uri, objectRef, ...times } = JSON.parse(line)
    const end = stage === 'ResponseStarted' ? undefined : Date.parse(times.stageTimestamp)
    const begin = Date.parse(times.requestReceivedTimestamp)
    requests.set(auditID, { verb, resource: objectRef?.resource ?? uri, uri, begin, end })
  }
  return [...requests.values()].toSorted((a, b) => a.begin - b.begin)
}

/** Returns the scans in an audit log. The last scan may not have ended. */
export function scansIn(requests: readonly AuditedRequest[]): readonly ObservedScan[] {
  const scans: ObservedScan[] = []
  for (const request of requests.filter(isPageOfPods)) {
    const { begin, end = begin, uri } = request
    const last = uri.includes('continue=') ? scans.pop() : undefined
    scans.push({
      begin: last?.begin ?? begin,
      end,
      requests: (last?.requests ?? 0) + end - begin,
      pages: (last?.pages ?? 0) + 1,
    })
  }
  return scans
}

export function isPageOfPods({ verb, uri }: AuditedRequest): boolean {
  return verb === 'list' && uri.startsWith('/api/v1/pods?')
}

/**
 * Returns the share of the time that scans take, from the start of the first scan to the start of
 * the last scan; NaN if there are fewer than two scans.
 */
export function shareOfScans(scans: readonly ObservedScan[]): number {
  const [first, last] = [scans.at(0), scans.at(-1)]
  if (first === undefined || last === undefined || first === last) return Number.NaN
  const working = scans.slice(0, -1).reduce((sum, { requests }) => sum + requests, 0)
  return working / (last.begin - first.begin)
}

/** Counts requests by verb and resource, the most frequent first. */
export function countRequests(requests: readonly AuditedRequest[]): readonly [string, number][] {
  const groups = Map.groupBy(requests, ({ verb, resource }) => `${verb} ${resource}`)
  const counts = [...groups].map(([name, { length }]): [string, number] => [name, length])
  return counts.toSorted(([, some], [, others]) => others - some)
}
