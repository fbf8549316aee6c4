import { DOMAIN } from './keys.ts'

/** Properties of the JSON text that contains an object, found without parsing the text. */
export interface BodyScan {
  /** The number of characters in the text. No value in the object is longer. */
  readonly size: number
  /** An upper bound for the number of Ridealong's keys in the text. */
  readonly mentions: number
}

/** Used for an object whose JSON text is unknown. */
export const UNKNOWN_BODY: BodyScan = {
  size: Number.POSITIVE_INFINITY,
  mentions: Number.POSITIVE_INFINITY,
}

/**
 * Matches the start of a JSON escape that could encode a character of the domain: a lowercase
 * letter or the dot.
 */
const SPELLING = /\\u00(?:2e|[67])/i

/** Scans JSON text. The text is searched at most three times, whatever its size. */
export function scanBody(json: string): BodyScan {
  return { size: json.length, mentions: mentionsIn(json) }
}

function mentionsIn(json: string): number {
  // An escape could hide the domain. The apiserver never writes such an escape.
  if (json.includes('\\u00') && SPELLING.test(json)) return Number.POSITIVE_INFINITY
  let mentions = 0
  for (let at = json.indexOf(DOMAIN); at >= 0; at = json.indexOf(DOMAIN, at + DOMAIN.length)) {
    mentions += 1
  }
  return mentions
}
