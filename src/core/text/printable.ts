/**
 * Makes untrusted text safe to display. Statuses, logs, process names, messages of the apiserver
 * and files can contain characters that control a terminal (ECMA-48: ESC, CSI), change the reading
 * order of text (Unicode TR 36), start a new line, or are invisible.
 */

/** The default maximum length of a printable line, in UTF-16 code units. */
export const MAX_LINE_LENGTH = 4096

/**
 * Scripts whose letters do not change shape next to a joiner, and default-ignorable characters. A
 * joiner next to these characters could only deceive a reader.
 */
const UNJOINED = String.raw`\p{scx=Latn}\p{scx=Grek}\p{scx=Cyrl}\p{scx=Han}\p{sc=Zinh}\p{DI}`

/**
 * Invisible characters that occur in ordinary text: variation selectors and joiners of emoji, and
 * joiners between letters of a script such as Arabic or Devanagari.
 */
const ORDINARY = [
  String.raw`(?<=\p{ExtPict}\p{EMod}?)[\ufe0e\ufe0f]`,
  String.raw`(?<=\p{ExtPict}[\p{EMod}\ufe0f]?)\u200d(?=\p{ExtPict})`,
  String.raw`(?<=(?![${UNJOINED}])[\p{L}\p{M}])[\u200c\u200d](?=(?![${UNJOINED}])\p{L})`,
].join('|')

/**
 * Control characters (C0, DEL, C1), format characters such as the bidirectional controls, lone
 * surrogates, line and paragraph separators, and characters that Unicode defines as
 * default-ignorable.
 */
const UNPRINTABLE = new RegExp(
  String.raw`(${ORDINARY})|[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}]`,
  'gu',
)

/**
 * Converts text to one printable line. Unprintable characters become escapes (`\n`, `\u001b`,
 * `\u{e0041}`). All other text, in any language, is unchanged.
 *
 * @param longest the maximum length of the result in UTF-16 code units; shortened text ends in
 * `...`
 */
export function printable(text: string, longest = MAX_LINE_LENGTH): string {
  // An escape is never shorter than its character, so text after the limit is never part of the
  // result.
  const escaped = replaceUnprintable(text.slice(0, longest + 1), escapeOf)
  return cut(escaped, longest)
}

/**
 * Makes text of several lines printable. Line feeds and tabs are kept, and a carriage return before
 * a line feed is removed. Use this function only for whole files and logs. Elsewhere, untrusted
 * text could add lines to the output.
 */
export function printableBlock(text: string): string {
  const isKept = (character: string) => character === '\n' || character === '\t'
  return replaceUnprintable(text.replaceAll('\r\n', '\n'), (character) =>
    isKept(character) ? character : escapeOf(character),
  )
}

/** Formats a value as JSON in which all unprintable characters are escaped. */
export function printableJson(value: unknown, indent?: number): string {
  return printableJsonText(JSON.stringify(value, undefined, indent))
}

/**
 * Escapes the unprintable characters of JSON text. Outside strings, the text must have no
 * unprintable characters other than line feeds.
 */
export function printableJsonText(json: string): string {
  return replaceUnprintable(json, (character) =>
    character === '\n' ? character : character.split('').map(unitEscapeOf).join(''),
  )
}

/**
 * Escapes the unprintable characters of YAML text, all of which must be in double-quoted strings. A
 * lone surrogate, which YAML cannot represent, becomes U+FFFD.
 */
export function printableYamlText(yaml: string): string {
  return replaceUnprintable(yaml, (character) => {
    if (character === '\n' || character === '\t') return character
    if (/\p{Cs}/u.test(character)) return '\\ufffd'
    if (character.length === 1) return unitEscapeOf(character)
    return `\\U${character.codePointAt(0)?.toString(16).padStart(8, '0')}`
  })
}

/** Converts text to one line of ASCII. Every other character becomes a question mark. */
export function ascii(text: string, longest = MAX_LINE_LENGTH): string {
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

/**
 * Shortens printable text. If the cut leaves half of a surrogate pair or an ignorable character at
 * the end, this character is removed too.
 */
function cut(text: string, longest: number): string {
  if (text.length <= longest) return text
  const kept = text.slice(0, Math.max(0, longest - DOTS.length))
  const whole = kept.replace(/[\p{Cs}\p{DI}]{1,2}$/u, '')
  return `${whole}${DOTS}`.slice(0, longest)
}
