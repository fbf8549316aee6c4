import { printableJson } from '../../core/text/printable.ts'
import { jsonParts } from '../report/json-parts.ts'
import { functionsOf, type RankStacks } from './rank-stacks.ts'

const SCHEMA = 'https://www.speedscope.app/file-format-schema.json'

/**
 * Yields a file of speedscope (src/lib/file-format-spec.ts of jlfwong/speedscope) with one profile
 * for each rank and program. The weights are seconds. Stacks that begin with
 * the same functions are adjacent, so that speedscope draws these functions as one frame, also in
 * the order of the file, which it calls the order of time.
 *
 * @param program the name and the version of the program that writes the file
 */
export function* speedscopeParts(
  stacks: readonly RankStacks[],
  program: string,
): Generator<string> {
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

/** Builds the profile of a rank and program. @param numbers the numbers of the frames, by name */
function sampledProfile(
  { rank, program, tree, seconds }: RankStacks,
  numbers: ReadonlyMap<string, number>,
) {
  const sorted = [...seconds]
    .map(([frame, weight]) => ({ functions: functionsOf(tree, frame), weight }))
    .sort((a, b) => compare(a.functions, b.functions))
  const ofNames = tree.names.map((name) => numbers.get(name) ?? 0)
  return {
    type: 'sampled',
    name: `rank ${rank}, ${program}`,
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
