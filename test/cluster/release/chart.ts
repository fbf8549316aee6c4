import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import { run, tools } from '../machine/tools.ts'

const CHART = fileURLToPath(new URL('../../../charts/ridealong', import.meta.url))

/** Values without which the chart is not rendered; what is tested needs none of them. */
const CERTIFICATES = [
  ...['--set', 'certificates.mode=provided,certificates.provided.secretName=tls'],
  ...['--set', 'certificates.provided.caBundle=-----BEGIN CERTIFICATE-----'],
]

/** The objects that one template of the chart installs. */
export async function renderTemplate(
  file: string,
  words: readonly string[],
  namespace = 'ridealong-system',
  // biome-ignore lint/suspicious/noExplicitAny: objects of any kind; whoever names the file knows which.
): Promise<any[]> {
  const helm = join(await tools('helm-4', () => {}), 'helm')
  const where = ['--namespace', namespace, '--show-only', `templates/${file}.yaml`]
  const rendered = await run(helm, ['template', 'test', CHART, ...where, ...CERTIFICATES, ...words])
  return parseAllDocuments(rendered).map((document) => document.toJS())
}
