/** The longest word for which similar words are searched. Longer words are no typing errors. */
const MAX_LENGTH = 253

/** The least length of a word that is searched as the beginning of a known word. */
const MIN_BEGINNING = 3

/**
 * Returns the known word that was probably meant: the word with the fewest typing errors, at most
 * one in three characters, otherwise the only word that begins with the written one. Returns
 * undefined if there is no such word, or if two words are equally similar.
 */
export function findSimilar(written: string, known: Iterable<string>): string | undefined {
  if (written.length > MAX_LENGTH) return undefined
  const words = [...new Set(known)]
  const distances = words.map((word) => ({ word, errors: countErrors(written, word) }))
  const close = distances.filter(({ word, errors }) => {
    return errors <= Math.max(word.length, written.length) / 3
  })
  const fewest = Math.min(...close.map(({ errors }) => errors))
  const closest = close.filter(({ errors }) => errors === fewest).map(({ word }) => word)
  const isBeginning = written.length >= MIN_BEGINNING
  const longer = isBeginning ? words.filter((word) => word.startsWith(written)) : []
  const [found, ...others] = closest.length > 0 ? closest : longer
  return others.length === 0 ? found : undefined
}

/** Returns ` (did you mean WORD?)`, or an empty string if no known word is similar. */
export function didYouMean(written: string, known: Iterable<string>): string {
  const found = findSimilar(written, known)
  return found === undefined ? '' : ` (did you mean ${found}?)`
}

/**
 * Like `didYouMean`, for keys PREFIX/NAME. If known keys have the same prefix, only the names are
 * compared, because a long prefix makes all keys similar.
 */
export function didYouMeanKey(written: string, known: Iterable<string>): string {
  const keys = [...known]
  const prefix = written.slice(0, written.indexOf('/') + 1)
  const beside = keys.filter((key) => prefix !== '' && key.startsWith(prefix))
  if (beside.length === 0) return didYouMean(written, keys)
  const names = beside.map((key) => key.slice(prefix.length))
  const name = findSimilar(written.slice(prefix.length), names)
  return name === undefined ? '' : ` (did you mean ${prefix}${name}?)`
}

/**
 * Counts the characters that must be inserted, removed or replaced to turn one word into the other
 * (Levenshtein distance).
 */
function countErrors(left: string, right: string): number {
  const first = Array.from({ length: right.length + 1 }, (_, count) => count)
  const last = [...left].reduce<readonly number[]>(
    (row, character) => nextRow(row, character, right),
    first,
  )
  return last.at(-1) ?? 0
}

/**
 * Returns the numbers of errors between the left word, up to this character, and each beginning of
 * the right word.
 *
 * @param last the numbers for the left word without this character
 */
function nextRow(last: readonly number[], character: string, right: string): readonly number[] {
  let [before = 0] = last
  let count = before + 1
  const row = [count]
  for (const [index, removed] of last.slice(1).entries()) {
    const replaced = before + (character === right[index] ? 0 : 1)
    count = Math.min(removed + 1, count + 1, replaced)
    row.push(count)
    before = removed
  }
  return row
}
