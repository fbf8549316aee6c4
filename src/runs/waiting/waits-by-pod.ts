/** The processes of a pod that wait for others, and those for which others wait. */
export interface PodWaits<Waiting, Late> {
  readonly pod: string
  readonly waiting: readonly Waiting[]
  readonly late: readonly Late[]
}

/** Groups processes by pod, the pods of late processes first. @param podOf returns their pod */
export function waitsByPod<Waiting, Late>(
  { waiting, late }: Omit<PodWaits<Waiting, Late>, 'pod'>,
  podOf: (process: Waiting | Late) => string,
): readonly PodWaits<Waiting, Late>[] {
  const waitingIn = Map.groupBy(waiting, podOf)
  const lateIn = Map.groupBy(late, podOf)
  return [...new Set([...late, ...waiting].map(podOf))].map((pod) => {
    return { pod, waiting: waitingIn.get(pod) ?? [], late: lateIn.get(pod) ?? [] }
  })
}
