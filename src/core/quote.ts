const LONGEST = 64

/**
 * Quotes text of a user's for a message: at most 64 characters, and printable ASCII alone, since
 * messages travel in warnings, logs and annotations, where control characters are refused
 * (apiserver/pkg/warning) or act on the reader's terminal.
 */
export function quote(text: string): string {
  const printable = text.slice(0, LONGEST).replace(/[^\x20-\x7e]/g, '?')
  return JSON.stringify(text.length > LONGEST ? `${printable}...` : printable)
}
