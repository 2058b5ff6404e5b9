import { oldMetricOf, renamed } from '../renamed.ts'

/**
 * The text of a scrape with renamed metrics and jobs under their old names, too. Here and not in the registry, so that
 * no metric is counted twice and every process is covered.
 */
export function withOldNames(text: string): string {
  const metrics = text.split(/^(?=# HELP )/m).map(withOldJobs)
  const copies = metrics.flatMap((metric) => {
    const [, name = ''] = /^# HELP (\S+)/.exec(metric) ?? []
    const oldName = oldMetricOf(name)
    return oldName === undefined ? [] : [copyOf(metric, name, oldName)]
  })
  return [metrics.join('').trimEnd(), ...copies, ''].join('\n')
}

/** A metric with each series of a renamed job under both names of the job. */
function withOldJobs(metric: string): string {
  let all = metric
  for (const [name, oldName] of Object.entries(renamed.jobs))
    all = all.replaceAll(
      new RegExp(`^(model_gateway_job_.*\\{job=")${name}(".*)$`, 'gm'),
      `$&\n$1${oldName}$2`,
    )
  return all
}

/** A metric under its old name. */
function copyOf(metric: string, name: string, oldName: string): string {
  return metric
    .trimEnd()
    .replace(/^# HELP .*/, `# HELP ${oldName} Deprecated: use ${name}.`)
    .replace(`# TYPE ${name} `, `# TYPE ${oldName} `)
    .replaceAll(new RegExp(`^${name}(?=[ {]|_(?:bucket|sum|count)\\b)`, 'gm'), oldName)
}
