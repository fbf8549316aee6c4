/** Texts that would act on a terminal, on the order of what is read, or on the lines of an output. */
export const HOSTILE_TEXTS = [
  '\u001b]0;PWNED\u0007',
  '\u001b[2J',
  '\u009b2J',
  '\u202egnp.exe\u2066\u200f',
  '100 %\rFORGED',
  'a\nFORGED',
  'b\u0085FORGED',
  'c\u2028FORGED',
  '\u007f\u0008\u200b\u{e0041}',
] as const

/** All of them in one. */
export const HOSTILE = HOSTILE_TEXTS.join('')

/** The same in the characters that a file's name, an argument and YAML as it stands can have. */
export const HOSTILE_NAME = HOSTILE.replaceAll('/', '')

/** One line of it. */
export const HOSTILE_LINE = HOSTILE.replaceAll('\n', '')

/** A control other than a line feed or a tab, a lone surrogate, or what breaks, hides or reorders lines. */
export const HARMFUL =
  /(?![\n\t])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/u

/** Colours of a difference, and a bar of progress that is drawn again. */
export const OURS = new RegExp(`${'\u001b'}\\[(?:3[129]m|2K|1G)`, 'g')

/** A text of others that came to begin a line of its own. */
export const FORGED = /^FORGED/m
