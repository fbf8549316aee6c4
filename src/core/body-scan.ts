import { DOMAIN } from './keys.ts'

/** What the JSON that something came as tells of it, before any look at its parts. */
export interface BodyScan {
  /** Its characters: no part of it has more. */
  readonly size: number
  /** How often it may speak of us: no fewer times than it holds keys of ours. */
  readonly mentions: number
}

/** What came as something else, or by other hands. */
export const UNKNOWN_BODY: BodyScan = {
  size: Number.POSITIVE_INFINITY,
  mentions: Number.POSITIVE_INFINITY,
}

/** The beginning of every escape that could spell a character of the domain: a small letter, or the dot. */
const SPELLING = /\\u00(?:2e|[67])/i

/** Three searches at most, however large the text is. */
export function scanBody(json: string): BodyScan {
  return { size: json.length, mentions: mentionsIn(json) }
}

function mentionsIn(json: string): number {
  // The apiserver writes no such escape.
  if (json.includes('\\u00') && SPELLING.test(json)) return Number.POSITIVE_INFINITY
  let mentions = 0
  for (let at = json.indexOf(DOMAIN); at >= 0; at = json.indexOf(DOMAIN, at + DOMAIN.length)) {
    mentions += 1
  }
  return mentions
}
