import { escapeHtml } from '../core/text/html.ts'

/** A script or a style sheet of a page, and the SHA-256 of its text in base64. */
export interface Asset {
  readonly text: string
  readonly sha256: string
}

/**
 * Returns the beginning of a page, which is one self-contained file, up to the tag of its body. Its
 * Content-Security-Policy allows only its own script and style sheet and embedded images, and no
 * requests to a server.
 *
 * @param script the only script; if omitted, the page has none
 * @param more further elements of the head, each on a line of its own
 */
export function beginDocument({
  title,
  style,
  script,
  more = '',
}: {
  readonly title: string
  readonly style: Asset
  readonly script?: Asset
  readonly more?: string
}): string {
  const policy = [
    "default-src 'none'",
    ...(script === undefined ? [] : [`script-src 'sha256-${script.sha256}'`]),
    `style-src 'sha256-${style.sha256}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
${more}<link rel="icon" href="data:,">
<title>${escapeHtml(title)}</title>
<style>${style.text}</style>
</head>
<body>
`
}
