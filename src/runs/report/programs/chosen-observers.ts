import {
  type ChosenSource,
  chooseSource,
  type QuantitySource,
} from '../../../core/rules/choose-source.ts'
import { sectionKey } from '../../evidence/evidence.ts'
import { keepRows } from '../../evidence/kept-rows.ts'
import type { CollectedRun } from '../gather.ts'
import type { Track } from '../track.ts'
import type { LogFacts } from './log-facts.ts'

/** The tracks of one observer. */
interface ObserverTracks extends QuantitySource {
  readonly facts: LogFacts
  readonly tracks: readonly Track[]
}

/** Chooses the observer whose tracks are shown, if several observers have measured the same. */
export function chooseObserver(
  tracks: readonly Track[],
  logs: ReadonlyMap<string, LogFacts>,
): ChosenSource<ObserverTracks> | undefined {
  const byObserver = Map.groupBy(tracks, ({ source }) => logs.get(source)?.observer)
  return chooseSource(
    [...byObserver.values()].flatMap((own) => {
      const facts = logs.get(own[0]?.source ?? '')
      return facts === undefined ? [] : { ...sourceOf(own, facts), tracks: own, facts }
    }),
  )
}

function sourceOf(tracks: readonly Track[], facts: LogFacts): QuantitySource {
  return {
    isKnown: tracks.some(({ values }) => values.flat().some((value) => value !== null)),
    isCounted: true,
    coversEnded: !facts.isEarly,
    isTotal: false,
    isWhole: facts.isWhole,
    order: facts.order,
  }
}

/** A track, or a thing of the evidence. */
type Place = Pick<Track, 'source' | 'container'>

/**
 * Returns a run that has of each section, pod and container only the rows of one observer. Several
 * observers of one metric in a pod, such as an injected and an attached one, measure the same, so
 * their rows are never added up. Findings, tables and plots read the rows that are kept.
 *
 * @param logs the facts about all logs, by their names
 */
export function withChosenObservers(
  run: CollectedRun,
  logs: ReadonlyMap<string, LogFacts>,
): CollectedRun {
  if (!hasSeveral([...logs.values()])) return run
  const { others, otherLogs } = findOthers(listTracks(run, logs), logs)
  const isKept = (section: string, thing: Place) => !others.has(placeKey(section, thing))
  const kept = <One extends Place>(section: string, things: ReadonlyMap<string, One>) =>
    new Map([...things].filter(([, thing]) => isKept(section, thing)))
  const keptByMetric = (section: string, tracks: ReadonlyMap<string, Track>) =>
    new Map([...tracks].filter(([, one]) => isKept(sectionOf(logs, one, section), one)))
  return {
    ...run,
    processes: keptByMetric('process', run.processes),
    devices: keptByMetric('device', run.devices),
    sections: new Map(
      [...run.sections].map(([key, one]) => {
        const tracks = kept(sectionKey(one.metric, one.section.name), one.tracks)
        return [key, { ...one, tracks }]
      }),
    ),
    evidence: keepRows(run.evidence, {
      isThing: isKept,
      isLog: (log) => !otherLogs.has(log),
    }),
  }
}

/** Reports whether several observers of one metric have measured a pod. */
function hasSeveral(logs: readonly LogFacts[]): boolean {
  const groups = Map.groupBy(logs, ({ pod, metric }) => JSON.stringify([pod, metric]))
  return [...groups.values()].some((own) => new Set(own.map(({ observer }) => observer)).size > 1)
}

interface SectionTrackOf {
  readonly section: string
  readonly track: Track
}

function listTracks(
  { processes, devices, sections }: CollectedRun,
  logs: ReadonlyMap<string, LogFacts>,
): readonly SectionTrackOf[] {
  const ofKind = (kind: string, tracks: ReadonlyMap<string, Track>) =>
    [...tracks.values()].map((track) => ({ section: sectionOf(logs, track, kind), track }))
  const described = [...sections.values()].flatMap(({ metric, section, tracks }) =>
    [...tracks.values()].map((track) => ({ section: sectionKey(metric, section.name), track })),
  )
  return [...ofKind('process', processes), ...ofKind('device', devices), ...described]
}

/** Returns the key of a section of the metric of a track's log. */
function sectionOf(logs: ReadonlyMap<string, LogFacts>, { source }: Track, name: string): string {
  return sectionKey(logs.get(source)?.metric ?? '', name)
}

function placeKey(section: string, { source, container }: Place): string {
  return JSON.stringify([section, source, container])
}

/** Returns the places of the tracks that are not chosen, and the logs that have no others. */
function findOthers(tracks: readonly SectionTrackOf[], logs: ReadonlyMap<string, LogFacts>) {
  const groups = Map.groupBy(tracks, ({ section, track: { source, container } }) =>
    JSON.stringify([logs.get(source)?.pod, section, container]),
  )
  const others = new Set<string>()
  const chosenLogs = new Set<string>()
  for (const group of groups.values()) {
    const chosen = chooseObserver(
      group.map(({ track }) => track),
      logs,
    )
    for (const { section, track } of group) {
      const isChosen = logs.get(track.source)?.observer === chosen?.source.facts.observer
      if (isChosen) chosenLogs.add(track.source)
      else others.add(placeKey(section, track))
    }
  }
  const logsOfTracks = tracks.map(({ track }) => track.source)
  return { others, otherLogs: new Set(logsOfTracks.filter((log) => !chosenLogs.has(log))) }
}
