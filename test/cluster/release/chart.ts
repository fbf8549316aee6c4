import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import { run, tools } from '../machine/tools.ts'

const CHART = fileURLToPath(new URL('../../../charts/ridealong', import.meta.url))

/** Values that the chart requires. Their content does not matter to the tests. */
const CERTIFICATES = [
  ...['--set', 'certificates.mode=provided,certificates.provided.secretName=tls'],
  ...['--set', 'certificates.provided.caBundle=-----BEGIN CERTIFICATE-----'],
]

/** Renders one template of the chart, and returns its objects. */
export async function renderTemplate(
  file: string,
  words: readonly string[],
  namespace = 'ridealong-system',
  // biome-ignore lint/suspicious/noExplicitAny: objects of the kinds that the template makes.
): Promise<any[]> {
  const helm = join(await tools('helm-4', () => {}), 'helm')
  const where = ['--namespace', namespace, '--show-only', `templates/${file}.yaml`]
  const rendered = await run(helm, ['template', 'test', CHART, ...where, ...CERTIFICATES, ...words])
  return parseAllDocuments(rendered).map((document) => document.toJS())
}
