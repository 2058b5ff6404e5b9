import type { Process } from './processes.ts'

/**
 * A process's value of one series (`name` or `name{label="value"}`, without `model_gateway_`); 0 if it is
 * absent.
 */
export async function readMetric(process: Process, series: string): Promise<number> {
  const text = await (await fetch(`${process.adminUrl}/metrics`)).text()
  const start = `model_gateway_${series} `
  const line = text.split('\n').find((candidate) => candidate.startsWith(start))
  return Number(line?.slice(start.length) ?? 0)
}
