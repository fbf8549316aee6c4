import { keepRows } from '../evidence/kept-rows.ts'
import type { CollectedRun, LogSource } from './gather.ts'
import { readLogFacts } from './programs/log-facts.ts'

/** The logs that are copies, and for each of them the log that is kept. */
export type LogCopies = ReadonlyMap<string, string>

/**
 * Returns the logs that are copies of others: logs of one metric and pod that began at the same
 * time, such as the output of `collect` and the same logs as files. Of each, the most complete one
 * is kept.
 */
export function findCopies(run: CollectedRun): LogCopies {
  const facts = readLogFacts(run, (log) => log)
  const groups = Map.groupBy(
    [...run.sources].filter(([, source]) => identityOf(source) !== undefined),
    ([, source]) => identityOf(source),
  )
  const copies = [...groups.values()].flatMap((own) => {
    const [kept] = own.find(([log]) => facts.get(log)?.isWhole === true) ?? own[0] ?? []
    return own.flatMap(([log]) =>
      kept === undefined || log === kept ? [] : [[log, kept] as const],
    )
  })
  return new Map(copies)
}

function identityOf({ place, log }: LogSource): string | undefined {
  const { namespace, pod, metric } = place
  const { started } = log?.metadata ?? {}
  if (pod === null || metric === null || typeof started !== 'string') return undefined
  return JSON.stringify([namespace, pod, metric, started])
}

/** Returns a run without the rows of copies. The facts about their pods belong to the kept logs. */
export function withoutCopies(run: CollectedRun, copies: LogCopies): CollectedRun {
  if (copies.size === 0) return run
  const isLog = (log: string) => !copies.has(log)
  const kept = <Thing extends { readonly source: string }>(things: ReadonlyMap<string, Thing>) =>
    new Map([...things].filter(([, { source }]) => isLog(source)))
  return {
    ...run,
    sources: new Map([...run.sources].filter(([log]) => isLog(log))),
    processes: kept(run.processes),
    devices: kept(run.devices),
    sections: new Map(
      [...run.sections].map(([key, one]) => [key, { ...one, tracks: kept(one.tracks) }]),
    ),
    evidence: keepRows(run.evidence, {
      isThing: (_, { source }) => isLog(source),
      isLog,
      podLog: (log) => copies.get(log) ?? log,
    }),
  }
}
