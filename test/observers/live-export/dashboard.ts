import { textOf } from '../../docs/pages.ts'

/** An expression of a panel, with values for the variables of Grafana. */
export interface PanelExpression {
  readonly title: string
  readonly expression: string
}

/**
 * Returns the expressions of the run dashboard that need a metric. Each range is an hour.
 *
 * @param job the run: namespace and owner of the pods
 */
export function panelsOf(metric: string, job: string): readonly PanelExpression[] {
  const { panels } = JSON.parse(textOf('charts/ridealong/files/run-dashboard.json'))
  const found: readonly Panel[] = panels.filter((panel: Panel) => {
    return panel.description.includes(`Metric ${metric}`)
  })
  return found.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => ({ title, expression: filledIn(expr, job) })),
  )
}

interface Panel {
  readonly title: string
  readonly description: string
  readonly targets: readonly { readonly expr: string }[]
}

const filledIn = (expression: string, job: string) =>
  expression
    .replaceAll('$job', job)
    .replaceAll(/\$(pod|container|program)/g, '.*')
    .replaceAll(/\$__(rate_interval|range)/g, '1h')
