// The theme, the width and the printing of a page.

import { element } from '../elements.ts'
import { isDark, setPrinting } from './colours.ts'

/** Calls `show` if the theme or the width changes, and `print` before and after printing. */
export function watchPage(show: () => void, print: (isNow: boolean) => void) {
  let pending = 0
  const showSoon = () => {
    cancelAnimationFrame(pending)
    pending = requestAnimationFrame(show)
  }
  element('theme').addEventListener('click', () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark'
    showSoon()
  })
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', showSoon)
  let width = document.body.clientWidth
  new ResizeObserver(() => {
    if (document.body.clientWidth === width) return
    width = document.body.clientWidth
    showSoon()
  }).observe(document.body)
  addEventListener('beforeprint', () => changeTheme(true) && print(true))
  addEventListener('afterprint', () => changeTheme(false) && print(false))
}

/** Makes the page light to print it, and as it was before afterwards. Returns if that changed. */
function changeTheme(isPrinting: boolean) {
  if (!setPrinting(isPrinting)) return false
  const { dataset } = document.documentElement
  if (isPrinting) {
    dataset.before = dataset.theme ?? ''
    dataset.theme = 'light'
  } else if (dataset.before) dataset.theme = dataset.before
  else delete dataset.theme
  return true
}
