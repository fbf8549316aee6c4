import { printable, printableJson } from '../../core/text/printable.ts'
import type { ChosenRun } from '../report/assess.ts'
import { jsonParts } from '../report/json-parts.ts'
import { chromeTraceParts } from './chrome-trace.ts'
import type { OneFileFormat } from './format-names.ts'
import { pprofParts } from './pprof.ts'
import { functionsOf, listStacksOfPods, missingStacks, type StacksOfPod } from './stacks-of-pods.ts'
import { listTimedTracks, missingTracks } from './timed-tracks.ts'

const SCHEMA = 'https://www.speedscope.app/file-format-schema.json'

/**
 * Yields a file of speedscope (src/lib/file-format-spec.ts of jlfwong/speedscope) with one profile
 * for each pod and program. The weights are seconds. Stacks that begin with
 * the same functions are adjacent, so that speedscope draws these functions as one frame, also in
 * the order of the file, which it calls the order of time.
 *
 * @param program the name and the version of the program that writes the file
 */
function* speedscopeParts(stacks: readonly StacksOfPod[], program: string): Generator<string> {
  const names = [...new Set(stacks.flatMap(({ tree }) => tree.names))]
  const numbers = new Map(names.map((name, index) => [name, index]))
  const style = { indent: '', quote: printableJson } as const
  yield `{"$schema":"${SCHEMA}","exporter":${printableJson(program)},"shared":{"frames":`
  yield* jsonParts(
    names.map((name) => ({ name })),
    style,
  )
  yield '},"profiles":['
  for (const [index, own] of stacks.entries()) {
    yield index === 0 ? '\n' : ',\n'
    yield* jsonParts(sampledProfile(own, numbers), style)
  }
  yield '\n]}\n'
}

/** Builds the profile of a pod and program. @param numbers the numbers of the frames, by name */
function sampledProfile(
  { pod, program, tree, seconds }: StacksOfPod,
  numbers: ReadonlyMap<string, number>,
) {
  const sorted = [...seconds]
    .map(([frame, weight]) => ({ functions: functionsOf(tree, frame), weight }))
    .sort((a, b) => compare(a.functions, b.functions))
  const ofNames = tree.names.map((name) => numbers.get(name) ?? 0)
  return {
    type: 'sampled',
    name: `pod ${pod}, ${program}`,
    unit: 'seconds',
    startValue: 0,
    endValue: sorted.reduce((sum, { weight }) => sum + weight, 0),
    samples: sorted.map(({ functions }) => functions.map((number) => ofNames[number] ?? 0)),
    weights: sorted.map(({ weight }) => weight),
  }
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((number, index) => number !== b[index])
  if (at < 0) return a.length - b.length
  return (a[at] ?? 0) - (b[at] ?? -1)
}

/**
 * Yields collapsed stacks, as flamegraph.pl and its relatives read them: one line for each stack,
 * with the pod, the program and the functions from the outermost to the innermost, separated by
 * semicolons, then a blank and a number. The number is the time in microseconds. A whole number is
 * read by all of these programs, and the rows have no smaller unit.
 *
 * The format has no escapes. In the names of pods and programs, a semicolon becomes a colon, and
 * unprintable characters become escapes.
 */
function* collapsedParts(stacks: readonly StacksOfPod[]): Generator<string> {
  for (const { pod, program, tree, seconds } of stacks) {
    const names = tree.names.map(frameName)
    const above = `${frameName(pod)};${frameName(program)}`
    for (const [frame, time] of seconds) {
      const functions = functionsOf(tree, frame).map((number) => names[number] ?? '')
      yield `${[above, ...functions].join(';')} ${Math.round(time * 1e6)}\n`
    }
  }
}

function frameName(name: string): string {
  return printable(name).replaceAll(';', ':')
}

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
  convert: (stacks: readonly StacksOfPod[], program: string) => Iterable<string | Uint8Array>,
): ConvertRun {
  return (run, program) => {
    const stacks = listStacksOfPods(run)
    if (stacks.length === 0) throw new NothingToConvert(missingStacks(run))
    return convert(stacks, program)
  }
}

function convertToTrace(run: ChosenRun, program: string): Iterable<string> {
  const tracks = listTimedTracks(run)
  if (tracks.length === 0) throw new NothingToConvert(missingTracks(run))
  return chromeTraceParts(run, tracks, program)
}
