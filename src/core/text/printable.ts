/**
 * Makes text that others wrote safe to show. Statuses, logs, process names, the apiserver's messages
 * and files can carry characters that control a terminal (ECMA-48: ESC, CSI), that change the order in
 * which text is read (Unicode TR 36), that begin a new line, or that nobody sees.
 */

/** The longest line of such text, in UTF-16 code units. */
export const LONGEST_LINE = 4096

/** Scripts whose letters do not change shape beside a joiner, so that it could only deceive there. */
const UNJOINED = String.raw`\p{scx=Latn}\p{scx=Grek}\p{scx=Cyrl}\p{scx=Han}\p{sc=Zinh}\p{DI}`

/**
 * Invisible characters that belong to ordinary text: those that choose or join emoji, and a joiner
 * between letters of a script such as Arabic or Devanagari.
 */
const ORDINARY = [
  String.raw`(?<=\p{ExtPict}\p{EMod}?)[\ufe0e\ufe0f]`,
  String.raw`(?<=\p{ExtPict}[\p{EMod}\ufe0f]?)\u200d(?=\p{ExtPict})`,
  String.raw`(?<=(?![${UNJOINED}])[\p{L}\p{M}])[\u200c\u200d](?=(?![${UNJOINED}])\p{L})`,
].join('|')

/**
 * Controls (C0, DEL, C1), format characters such as the bidirectional controls, lone surrogates, line
 * and paragraph separators, and characters that Unicode has ignored when text is drawn.
 */
const UNPRINTABLE = new RegExp(
  String.raw`(${ORDINARY})|[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}]`,
  'gu',
)

/**
 * Makes one line of any text. Unprintable characters become escapes (`\n`, `\u001b`, `\u{e0041}`);
 * all other text, in any language, stays as it is.
 *
 * @param longest the most UTF-16 code units of the result; a text that is cut ends in `...`
 */
export function printable(text: string, longest = LONGEST_LINE): string {
  // No character becomes shorter, so what is behind the bound is never seen.
  const escaped = replaceUnprintable(text.slice(0, longest + 1), escapeOf)
  return cut(escaped, longest)
}

/**
 * Makes a text of several lines printable. Line feeds and tabs stay, and a carriage return before a
 * line feed goes. Lines that others wrote stay lines: use it for whole files and logs only.
 */
export function printableBlock(text: string): string {
  const isKept = (character: string) => character === '\n' || character === '\t'
  return replaceUnprintable(text.replaceAll('\r\n', '\n'), (character) =>
    isKept(character) ? character : escapeOf(character),
  )
}

/** Writes a value as JSON whose text is printable: the same value, with more escapes. */
export function printableJson(value: unknown, indent?: number): string {
  return printableJsonText(JSON.stringify(value, undefined, indent))
}

/** Escapes the unprintable characters of JSON, which are all inside its strings. */
export function printableJsonText(json: string): string {
  return replaceUnprintable(json, (character) =>
    character === '\n' ? character : character.split('').map(unitEscapeOf).join(''),
  )
}

/**
 * Escapes the unprintable characters of YAML, which must all be inside double quotes. Half of a
 * surrogate pair, which no YAML can have, becomes U+FFFD.
 */
export function printableYamlText(yaml: string): string {
  return replaceUnprintable(yaml, (character) => {
    if (character === '\n' || character === '\t') return character
    if (/\p{Cs}/u.test(character)) return '\\ufffd'
    if (character.length === 1) return unitEscapeOf(character)
    return `\\U${character.codePointAt(0)?.toString(16).padStart(8, '0')}`
  })
}

/** Makes one line of ASCII of any text: every other character becomes a question mark. */
export function ascii(text: string, longest = LONGEST_LINE): string {
  return cut(text.slice(0, longest + 1).replace(/[^\x20-\x7e]/g, '?'), longest)
}

function replaceUnprintable(text: string, escapeOne: (character: string) => string): string {
  return text.replace(
    UNPRINTABLE,
    (character, ordinary?: string) => ordinary ?? escapeOne(character),
  )
}

function escapeOf(character: string): string {
  const short = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character]
  if (short !== undefined) return short
  if (character.length === 1) return unitEscapeOf(character)
  return `\\u{${character.codePointAt(0)?.toString(16)}}`
}

function unitEscapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

const DOTS = '...'

/** Cuts a text that is printable, before the first character that would then be part of another. */
function cut(text: string, longest: number): string {
  if (text.length <= longest) return text
  const kept = text.slice(0, Math.max(0, longest - DOTS.length))
  const whole = kept.replace(/[\p{Cs}\p{DI}]{1,2}$/u, '')
  return `${whole}${DOTS}`.slice(0, longest)
}
