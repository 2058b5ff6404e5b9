import { expect, test } from 'vitest'
import { clickHouseUrlSetting } from '../archive-setting.ts'

test('a URL with a database is accepted', () => {
  const url = 'https://user:password@clickhouse.example:8443/requests'
  expect(clickHouseUrlSetting.parse(url)).toBe(url)
})

test.each([
  ['no URL', 'clickhouse secret-1'],
  ['a port that is none', 'https://user:secret-1@clickhouse.example:99999/requests'],
  ['a password that is not encoded', 'https://user:secret-1/#@clickhouse.example:8443/requests'],
  ['another protocol', 'tcp://user:secret-1@clickhouse.example:9000/requests'],
  ['no database', 'https://user:secret-1@clickhouse.example:8443'],
])('%s is rejected by a message that does not contain it', (_, url) => {
  const { success, error } = clickHouseUrlSetting.safeParse(url)
  expect(success).toBe(false)
  expect(error?.message).toContain('must')
  expect(error?.message).not.toContain('secret-1')
})
