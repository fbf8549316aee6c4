// Colours come from the style sheet, so that light, dark and paper are one place's concern.

/** Told apart also by those who see fewer colours (Okabe and Ito), on light and on dark. */
const LINE_COLOURS = [
  ['#0072b2', '#56b4e9'],
  ['#d55e00', '#f0883e'],
  ['#009e73', '#2fc79a'],
  ['#aa3377', '#e07fb8'],
  ['#8a6d00', '#e6c229'],
  ['#4d4d4d', '#c7c7c7'],
  ['#6f4fb3', '#b39ddb'],
  ['#7a3b1e', '#d7a27c'],
]

let isPrinting = false

/** Whether the page is dark now. Paper never is. */
function isDark() {
  if (isPrinting) return false
  const { theme } = document.documentElement.dataset
  return theme === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark'
}

/** A colour of the style sheet. @param {string} name */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

/** @param {number} index */
function lineColour(index) {
  return LINE_COLOURS[index % LINE_COLOURS.length]?.[isDark() ? 1 : 0] ?? '#888888'
}

/** A colour between three, for a part from 0 to 1. @param {readonly number[][]} stops @param {number} part */
function heat(stops, part) {
  const at = Math.min(Math.max(part, 0), 1) * (stops.length - 1)
  const from = stops[Math.floor(at)] ?? []
  const to = stops[Math.ceil(at)] ?? []
  return from.map((value, index) => Math.round(value + ((to[index] ?? 0) - value) * (at % 1)))
}

/** The stops of the strip's scale as red, green and blue. */
function heatStops() {
  return ['heat-0', 'heat-1', 'heat-2'].map((name) => {
    const number = Number.parseInt(colour(name).slice(1), 16)
    return [number >> 16, (number >> 8) & 255, number & 255]
  })
}
