import { expect, test } from 'vitest'
import { createAddressGuard } from './address-guard.ts'
import { findAddressProblem } from './address-problem.ts'

const guard = createAddressGuard(['127.0.0.0/8', '10.1.0.0/16'])
const never = 'is a reserved or cloud metadata address, which is never allowed'
const outside = 'is a loopback or private address that UPSTREAM_ALLOWED_CIDRS does not include'
const unasked = 'is a loopback or private address: set network.privateAddresses to true to allow it'

test.each([
  ['https://llm.example/v1', false, undefined],
  ['https://8.8.8.8/v1', false, undefined],
  ['http://127.0.0.1:8000/v1', false, unasked],
  ['http://127.0.0.1:8000/v1', true, undefined],
  ['http://localhost:8000/v1', false, unasked],
  ['http://llm.localhost./v1', true, undefined],
  ['http://[::1]/v1', true, outside],
  ['http://10.1.2.3/v1', true, undefined],
  ['http://10.2.0.1/v1', true, outside],
  ['http://10.2.0.1/v1', false, outside],
  ['http://169.254.169.254/latest', true, never],
  ['http://2852039166/latest', true, never],
  ['http://0xa9.0xfe.0xa9.0xfe/latest', true, never],
  ['http://[::ffff:169.254.169.254]/', true, never],
  ['http://metadata.google.internal/', true, never],
  ['http://0.0.0.0/', true, never],
])('%s, private addresses asked for: %s', (baseUrl, privateAddresses, problem) => {
  const network = { http: true, privateAddresses }
  const found = findAddressProblem({ name: 'p', api: 'OpenAI', baseUrl, headers: [], network }, guard)
  expect(found).toEqual(problem === undefined ? undefined : { path: ['spec', 'baseURL'], problem })
})
