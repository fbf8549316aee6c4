// The data of the page, and the formatting of numbers and names of lines.

/** @typedef {import('../data.ts').PageData} PageData */
/** @typedef {import('../plots.ts').Plots} Plots */
/** @typedef {import('../plots.ts').Line} Line */
/** @typedef {import('../plots.ts').Titled} Titled */
/** @typedef {import('../grid.ts').GridValue} GridValue */

/** @type {PageData} */
const DATA = JSON.parse(element('data').textContent ?? '')

/**
 * Returns the element with an id.
 *
 * @param {string} id
 * @returns {HTMLElement}
 * @throws Error if the page has no such element
 */
function element(id) {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no element with the id ${id}`)
  return found
}

/**
 * Returns the first element that a selector matches inside the element with an id.
 *
 * @param {string} id
 * @param {string} selector
 * @returns {Element}
 * @throws Error if there is no such element
 */
function inside(id, selector) {
  const found = element(id).querySelector(selector)
  if (found === null) throw new Error(`the page has no ${selector} in ${id}`)
  return found
}

/**
 * Creates an element; the text is never parsed as markup.
 *
 * @param {string} name
 * @param {string} [text]
 */
function made(name, text) {
  const node = document.createElement(name)
  if (text !== undefined) node.textContent = text
  return node
}

/**
 * Formats a number: rounded to three significant digits below 1000, otherwise to an integer.
 *
 * @param {number | null | undefined} value
 */
function plain(value) {
  if (value === null || value === undefined) return '–'
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(3)))
}

/** Formats seconds as 45 s, 2:05 or 1:02:05. @param {number} seconds */
function duration(seconds) {
  const whole = Math.round(seconds)
  if (whole < 60) return `${seconds < 10 && seconds !== whole ? seconds.toFixed(1) : whole} s`
  const [hours = 0, minutes = 0, rest = 0] = [whole / 3600, (whole / 60) % 60, whole % 60].map(
    Math.floor,
  )
  const two = (/** @type {number} */ part) => String(part).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`
}

/** @param {number} count @param {string} word */
function counted(count, word) {
  return `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`
}

/** @param {GridValue | undefined} value @returns {value is number} */
function isValue(value) {
  return typeof value === 'number'
}

/**
 * Returns the values of a line in a bucket: none, one value, or the minimum and the maximum.
 *
 * @param {readonly GridValue[]} values
 * @param {number} bucket
 * @param {number} buckets
 */
function valuesIn(values, bucket, buckets) {
  const own =
    values.length > buckets ? [values[bucket * 2], values[bucket * 2 + 1]] : [values[bucket]]
  return own.filter(isValue)
}

/** @param {readonly number[]} values */
function meanOf(values) {
  return values.length === 0
    ? undefined
    : values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Returns the name of a line. @param {Line} line */
function nameOf({ rank, program, pid }) {
  const who = /^\d/.test(rank) ? `rank ${rank}` : rank
  const words = [program, pid === null ? '' : String(pid)].filter((word) => word !== '')
  return words.length === 0 ? who : `${who}, ${words.join(' ')}`
}
