/** The numbers of objects of one measurement. */
export interface Size {
  readonly nodes: number
  readonly namespaces: number
  /** The number of namespaces that request metrics. */
  readonly asking: number
  readonly pods: number
  /** The number of pods of each of the two Jobs. */
  readonly jobPods: number
}

/** One namespace in ten requests metrics. */
export const ASKING_SHARE = 10

/** Returns the numbers of objects for a scale, which is 1 for a very large cluster. */
export function sizeOf(scale: number): Size {
  const scaled = (count: number) => Math.max(1, Math.round(count * scale))
  const asking = scaled(1000)
  return {
    nodes: scaled(1000),
    namespaces: asking * ASKING_SHARE,
    asking,
    pods: scaled(50_000),
    jobPods: scaled(5000),
  }
}

export function describeSize({ nodes, namespaces, asking, pods, jobPods }: Size): string {
  const parts = [
    `${nodes} nodes`,
    `${namespaces} namespaces, of which ${asking} request metrics`,
    `${pods} pods`,
    `two Jobs of ${jobPods} pods`,
  ]
  return parts.join(', ')
}
