import { afterAll } from 'vitest'
import { type ClickHouseForm, type RunningClickHouse, startClickHouse } from './clickhouse-server.ts'

/** A ClickHouse for this test file, which ends with it. */
export async function clickHouseOfThisFile(form: ClickHouseForm): Promise<RunningClickHouse> {
  const clickHouse = await startClickHouse(form)
  afterAll(() => clickHouse[Symbol.asyncDispose]())
  return clickHouse
}
