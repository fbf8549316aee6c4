import { printable } from './printable.ts'

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Returns a text for HTML, as content or as the value of an attribute in quotation marks. */
export function escapeHtml(text: string): string {
  return printable(text).replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
}
