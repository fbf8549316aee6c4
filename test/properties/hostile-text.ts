/**
 * Texts that would control a terminal, hide or reorder characters, or insert lines into an output.
 */
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

/** All hostile texts in one text. */
export const HOSTILE = HOSTILE_TEXTS.join('')

/** HOSTILE without slashes, which are not possible in file names. */
export const HOSTILE_NAME = HOSTILE.replaceAll('/', '')

/** HOSTILE without line feeds. */
export const HOSTILE_LINE = HOSTILE.replaceAll('\n', '')

/**
 * Matches a control character other than a line feed or a tab, a lone surrogate, a line separator,
 * or a character that is invisible or reorders text.
 */
export const HARMFUL =
  /(?![\n\t])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/u

/** Matches Ridealong's own control sequences: colours, bold text, and redrawn progress bars. */
export const OURS = new RegExp(`${'\u001b'}\\[(?:(?:1|22|3[1239]|90)m|2K|1G)`, 'g')

/** Matches a line that a hostile text has inserted. */
export const FORGED = /^FORGED/m
