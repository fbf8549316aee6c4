// The style sheet defines all colours for light mode, dark mode and print, except the colours of
// single lines.

/**
 * Pairs of colours for light and dark mode, distinguishable with colour vision deficiency (Okabe
 * and Ito).
 */
export const LINE_COLOURS = [
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

/** Sets whether the page is printed. Returns whether this changed. */
export function setPrinting(isNow: boolean): boolean {
  const hasChanged = isPrinting !== isNow
  isPrinting = isNow
  return hasChanged
}

/** Reports whether the page is in dark mode. Pages are always printed in light mode. */
export function isDark() {
  if (isPrinting) return false
  const { theme } = document.documentElement.dataset
  return theme === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark'
}

/** Returns a colour of the style sheet. */
export function colour(name: string) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

export function lineColour(index: number) {
  return LINE_COLOURS[index % LINE_COLOURS.length]?.[isDark() ? 1 : 0] ?? '#888888'
}

/**
 * Returns the colour at a position of a colour scale, interpolated between the stops.
 *
 * @param stops red, green and blue of each stop
 * @param part the position, from 0 to 1
 */
export function heat(stops: readonly number[][], part: number) {
  const at = Math.min(Math.max(part, 0), 1) * (stops.length - 1)
  const from = stops[Math.floor(at)] ?? []
  const to = stops[Math.ceil(at)] ?? []
  return from.map((value, index) => Math.round(value + ((to[index] ?? 0) - value) * (at % 1)))
}

/** Returns the stops of the heat map's colour scale as red, green and blue. */
export function heatStops() {
  return ['heat-0', 'heat-1', 'heat-2'].map((name) => {
    const number = Number.parseInt(colour(name).slice(1), 16)
    return [number >> 16, (number >> 8) & 255, number & 255]
  })
}
