import { ascii } from './printable.ts'

const MAX_LENGTH = 64

/**
 * Quotes the first 64 characters of untrusted text for a message, as printable ASCII. Messages
 * appear in warnings, logs and annotations, where control characters are refused
 * (apiserver/pkg/warning) or affect the reader's terminal.
 */
export function quote(text: string): string {
  const shown = ascii(text.slice(0, MAX_LENGTH))
  return JSON.stringify(text.length > MAX_LENGTH ? `${shown}...` : shown)
}
