import type { ChosenRun } from '../report/data.ts'
import { chromeTraceParts } from './chrome-trace.ts'
import { collapsedParts } from './collapsed.ts'
import type { OneFileFormat } from './format-names.ts'
import { pprofParts } from './pprof.ts'
import { listRankStacks, missingStacks, type RankStacks } from './rank-stacks.ts'
import { speedscopeParts } from './speedscope.ts'
import { listTimedTracks, missingTracks } from './timed-tracks.ts'

/**
 * Returns the parts of a file, each of which is made when those before it are written.
 *
 * @param program the name and the version of the converting program
 * @throws NothingToConvert if the run has no rows that the format could show
 */
export type ConvertRun = (run: ChosenRun, program: string) => Iterable<string | Uint8Array>

/** A run has no rows that a format could show. The message names the metric that has such rows. */
export class NothingToConvert extends Error {
  override readonly name = 'NothingToConvert'
}

/** The conversion to each format. */
export const CONVERSIONS: Readonly<Record<OneFileFormat, ConvertRun>> = {
  collapsed: ofStacks(collapsedParts),
  speedscope: ofStacks(speedscopeParts),
  pprof: ofStacks(pprofParts),
  'chrome-trace': convertToTrace,
}

/** Returns the conversion to a format that shows the stacks of functions of a run. */
function ofStacks(
  convert: (stacks: readonly RankStacks[], program: string) => Iterable<string | Uint8Array>,
): ConvertRun {
  return (run, program) => {
    const stacks = listRankStacks(run)
    if (stacks.length === 0) throw new NothingToConvert(missingStacks(run))
    return convert(stacks, program)
  }
}

function convertToTrace(run: ChosenRun, program: string): Iterable<string> {
  const tracks = listTimedTracks(run)
  if (tracks.length === 0) throw new NothingToConvert(missingTracks(run))
  return chromeTraceParts(run, tracks, program)
}
