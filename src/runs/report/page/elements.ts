// Finds and creates the elements of the page.

/**
 * Returns the element with an id.
 *
 * @throws Error if the page has no such element
 */
export function element(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no element with the id ${id}`)
  return found
}

/**
 * Returns the element of a kind with an id.
 *
 * @throws Error if the page has no such element
 */
export function elementOf<Kind extends HTMLElement>(kind: new () => Kind, id: string): Kind {
  const found = element(id)
  if (!(found instanceof kind)) throw new Error(`the element ${id} is not a ${kind.name}`)
  return found
}

/**
 * Returns the first element that a selector matches inside the element with an id.
 *
 * @throws Error if there is no such element
 */
export function inside(id: string, selector: string): Element {
  const found = element(id).querySelector(selector)
  if (found === null) throw new Error(`the page has no ${selector} in ${id}`)
  return found
}

/** Creates an element; the text is never parsed as markup. */
export function made<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  text?: string,
): HTMLElementTagNameMap[Name] {
  const node = document.createElement(name)
  if (text !== undefined) node.textContent = text
  return node
}

/** Creates an element of a class. */
export function classed<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className: string,
  text?: string,
): HTMLElementTagNameMap[Name] {
  const node = made(name, text)
  node.className = className
  return node
}

/** Creates an area that scrolls, for a table. The keys of the keyboard scroll it too. */
export function scrollOf(label: string): HTMLDivElement {
  const area = classed('div', 'scroll')
  area.tabIndex = 0
  area.setAttribute('role', 'region')
  area.setAttribute('aria-label', label)
  return area
}
