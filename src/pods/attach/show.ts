import { printableJson } from '../../core/text/printable.ts'
import type { Output, OutputFormat } from '../../lib/output-format.ts'
import { cleanYaml } from '../manifest/print.ts'

/** An attached observer. */
export interface Attachment {
  readonly namespace: string
  readonly pod: string
  /** The ephemeral container. */
  readonly container: string
  /** The observed container. */
  readonly target: string
  /** The image of the ephemeral container. */
  readonly image: string
}

/** Formats an attachment, with the command that reads the observer's log. */
export function shown(attachment: Attachment, form: OutputFormat): Output {
  const { namespace, pod, container, target } = attachment
  const logs = `kubectl logs -n ${namespace} ${pod} -c ${container} -f`
  if (form === 'json') return { document: `${printableJson({ ...attachment, logs }, 2)}\n` }
  if (form === 'yaml') return { document: cleanYaml({ ...attachment, logs }) }
  const done = `${container} observes container ${target} of pod ${pod}. Read its log with:`
  return { lines: [done, `  ${logs}`] }
}
