/**
 * Matches 1 to 256 characters other than control characters and lone surrogates. Container runtimes
 * refuse a NUL in the value of an environment variable.
 */
const PRINTABLE = /^[^\p{Cc}\p{Cs}]{1,256}$/u

/**
 * The maximum number of characters and bracket expressions in a pattern after its repetitions are
 * expanded.
 */
const LARGEST = 256
/** The maximum nesting depth of parentheses. */
const DEEPEST = 32
/** The largest number in an interval, RE_DUP_MAX of POSIX. */
const MAX = 255

const ESCAPE = String.raw`\\[\\^$.[\]|()*+?{}]`
const INTERVAL = String.raw`\{\d{1,3}(?:,\d{0,3})?\}`
const CLASSES = 'alpha|digit|alnum|upper|lower|space|blank|punct|print|graph|cntrl|xdigit'
const CLASS = `\\[:(?:${CLASSES}):\\]`
/** Printable ASCII except `-`, `[`, `\` and `]`. */
const IN_BRACKET = '[ -,.-Z^-~]'
const ITEM = `(?:${CLASS}|${IN_BRACKET}-${IN_BRACKET}|${IN_BRACKET})`
// A leading ^ negates the bracket expression and is not a member.
const BRACKET = `\\[(?:\\^|(?!\\^))(?:[\\]-]${ITEM}*|${ITEM}+)-?\\]`
const TOKEN = new RegExp(`${ESCAPE}|${INTERVAL}|${BRACKET}|[^]`, 'uy')
const RANGE = new RegExp(`(${IN_BRACKET})-(${IN_BRACKET})`, 'g')

const WRONG_ESCAPE = 'a \\ must precede one of \\ ^ $ . [ ] | ( ) * + ? { }'
const WRONG_BRACKET =
  'a bracket expression must look like [a-z_], [^0-9] or [[:alnum:].-], with only ASCII' +
  ' characters and without \\ or another [; write \\[ for the character'
const WRONG_INTERVAL =
  `an interval must be {n}, {n,} or {n,m} with numbers up to ${MAX};` +
  ' write \\{ for the character'
const NOTHING_TO_REPEAT =
  'a quantifier must follow an ASCII character, a bracket expression or a group, and no other' +
  ' quantifier; put the repeated part in parentheses'
const NO_ALTERNATIVE = 'an alternative or group is empty; write ( )? around an optional part'
const TOO_LARGE = `with its repetitions written out, the pattern exceeds ${LARGEST} characters`
const TOO_DEEP = `groups are nested more than ${DEEPEST} deep`
const NOT_CLOSED = 'a ( has no matching ); write \\( for the character'
const NOT_OPENED = 'a ) has no matching (; write \\) for the character'

/**
 * The state of a group during parsing. A size is the number of characters and bracket expressions
 * after repetitions are expanded.
 */
interface Group {
  /** The size of all alternatives except the last. */
  readonly before: number
  /**
   * The size of the last alternative without its last item; undefined if the alternative is empty.
   */
  readonly alternative: number | undefined
  /** The size of the last item; undefined if no quantifier may follow. */
  readonly item: number | undefined
}

interface Problem {
  readonly problem: string
}

const EMPTY: Group = { before: 0, alternative: undefined, item: undefined }

/**
 * Checks the regular expression of `ridealong.dev/target-command`, in time linear in its length.
 *
 * A valid pattern is a POSIX extended regular expression (IEEE Std 1003.1, 9.4) that matches the
 * same bytes in gawk, with LC_ALL=C, and in the observer's program
 * (observer/crates/target-command). In both programs, `.` matches every byte. A pattern consists of
 * ordinary characters, `\` before one of `\ ^ $ . [ ] | ( ) * + ? { }`, `.`, bracket expressions of
 * ASCII with ranges and POSIX classes, `( )`, `|`, `^`, `$`, and quantifiers. A quantifier (`*`,
 * `+`, `?`, `{n}`, `{n,}` or `{n,m}`) must follow an ASCII character, a bracket expression or a
 * group. A pattern whose meaning POSIX leaves undefined is invalid.
 *
 * After its repetitions are expanded, a pattern has at most 256 characters and bracket expressions.
 * glibc's regcomp copies repeated items (posix/regcomp.c, parse_dup_op: `x+` becomes `xx*`,
 * `x{2,4}` becomes `xx(x(x)?)?`), so nested repetitions would take exponential memory.
 *
 * @returns the problem and its correction, or undefined for a valid pattern
 */
export function problemOfTargetCommand(pattern: string): string | undefined {
  if (!PRINTABLE.test(pattern))
    return 'the pattern must have 1 to 256 printable characters, such as "lmp" or "^py.*"'
  const outer: Group[] = []
  let group = EMPTY
  for (let at = 0; at < pattern.length; ) {
    TOKEN.lastIndex = at
    const token = TOKEN.exec(pattern)?.[0] ?? pattern.charAt(at)
    const read = readToken(token, group, outer)
    if ('problem' in read) {
      return `at character ${[...pattern.slice(0, at)].length + 1}, ${read.problem}`
    }
    group = read
    at += token.length
  }
  if (outer.length > 0) return NOT_CLOSED
  const whole = endAlternative(group)
  return 'problem' in whole ? `at the end, ${whole.problem}` : undefined
}

/** Reads a token. Modifies `outer`, the stack of enclosing groups with the innermost group last. */
function readToken(token: string, group: Group, outer: Group[]): Group | Problem {
  switch (token.charAt(0)) {
    case '(':
      outer.push(group)
      return outer.length > DEEPEST ? { problem: TOO_DEEP } : EMPTY
    case ')':
      return endGroup(group, outer.pop())
    case '|':
      return endAlternative(group)
    case '^':
    case '$':
      return { ...group, alternative: sizeOf(group), item: undefined }
    case '*':
    case '+':
    case '?':
    case '{':
      return repeat(group, token)
    case '[':
      return isBracket(token) ? addItem(group, 1) : { problem: WRONG_BRACKET }
    case '\\':
      return token.length > 1 ? addItem(group, 1) : { problem: WRONG_ESCAPE }
    default:
      return addCharacter(group, token)
  }
}

function sizeOf({ alternative = 0, item = 0 }: Group): number {
  return alternative + item
}

function addItem(group: Group, item: number): Group | Problem {
  const added = { ...group, alternative: sizeOf(group), item }
  return added.before + sizeOf(added) > LARGEST ? { problem: TOO_LARGE } : added
}

/**
 * Adds a character. No quantifier may follow a character of several bytes, because a quantifier in
 * gawk would repeat only the last byte.
 */
function addCharacter(group: Group, character: string): Group | Problem {
  const added = addItem(group, 1)
  if ('problem' in added || character <= '~') return added
  return { ...added, alternative: sizeOf(added), item: undefined }
}

function repeat(group: Group, quantifier: string): Group | Problem {
  if (group.item === undefined) return { problem: NOTHING_TO_REPEAT }
  const copies = copiesOf(quantifier)
  if (copies === undefined) return { problem: WRONG_INTERVAL }
  const repeated = addItem({ ...group, item: undefined }, group.item * copies)
  return 'problem' in repeated
    ? repeated
    : { ...repeated, alternative: sizeOf(repeated), item: undefined }
}

/** Returns the number of copies that a quantifier expands to; undefined for an invalid interval. */
function copiesOf(quantifier: string): number | undefined {
  if (quantifier.startsWith('{')) return copiesOfInterval(quantifier)
  return quantifier === '+' ? 2 : 1
}

function copiesOfInterval(interval: string): number | undefined {
  const [, least = '', most = least] = /^\{(\d+)(?:,(\d+)?)?\}$/.exec(interval) ?? []
  const isAscending = least !== '' && Number(least) <= Number(most)
  if (!isAscending || Number(most) > MAX) return undefined
  return interval.endsWith(',}') ? Number(least) + 1 : Math.max(Number(most), 1)
}

/**
 * Reports whether a token is a valid bracket expression. Its ranges must be ascending. `&&`, `--`
 * and `~~` are invalid, because regular expressions in Rust use them as operators.
 */
function isBracket(token: string): boolean {
  if (token.length === 1 || /&&|--|~~/.test(token)) return false
  const members = token.replace(/^\[\^?/, '').replaceAll(/\[:[a-z]+:\]/g, '')
  const ranges = members.matchAll(RANGE)
  return [...ranges].every(([, from = '', to = '']) => from <= to)
}

function endAlternative(group: Group): Group | Problem {
  if (group.alternative === undefined) return { problem: NO_ALTERNATIVE }
  return { before: group.before + sizeOf(group), alternative: undefined, item: undefined }
}

function endGroup(group: Group, outer: Group | undefined): Group | Problem {
  if (outer === undefined) return { problem: NOT_OPENED }
  const whole = endAlternative(group)
  return 'problem' in whole ? whole : addItem(outer, whole.before)
}
