import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Contract } from '../../../api/contract.ts'
import { parseInput } from './parse-input.ts'

const contract: Contract = {
  operation: 'makeThing',
  summary: 'Make a thing',
  method: 'POST',
  url: '/api/v1/things',
  access: { to: 'anyone' },
  body: z.strictObject({ name: z.string().min(1), sizes: z.array(z.int()).optional() }),
  answers: { 204: 'nothing' },
}

function parse(of: Contract, body: unknown, headers: Record<string, string> = {}, query: unknown = {}) {
  const request = { method: 'POST', url: '/api/v1/things', params: {}, query, body, headers }
  return parseInput(of, request as never, 'en')
}

test('every wrong field is named, in one answer', () => {
  const answer = parse(contract, { sizes: [1, 1.5], colour: 'red' }, {}, { page: '2' })
  expect(answer).toMatchObject({
    problem: {
      code: 'validation_failed',
      errors: expect.arrayContaining([
        expect.objectContaining({ path: 'name', code: 'invalid_type' }),
        expect.objectContaining({ path: 'sizes.1' }),
        expect.objectContaining({ path: 'colour', code: 'unknown_field' }),
        expect.objectContaining({ path: 'page', code: 'unknown_field' }),
      ]),
    },
  })
})

test('a body of nothing but mistakes is answered in bounded length', () => {
  const answer = parse(contract, { name: 'x', sizes: Array(10_000).fill('no') })
  expect('problem' in answer && answer.problem.errors).toHaveLength(50)
})

test('a body that no contract reads makes no other request, however deep it is', () => {
  const { body: _, ...bodiless } = { ...contract, idempotencyKey: true as const }
  const deep = JSON.parse(`${'['.repeat(10_000)}${']'.repeat(10_000)}`)
  const hashes = [undefined, deep].map((body) => {
    const read = parse(bodiless, body, { 'idempotency-key': 'a' })
    return 'idempotency' in read ? read.idempotency?.requestHash.toString('hex') : read
  })
  expect(hashes[0]).toMatch(/^[0-9a-f]{64}$/)
  expect(hashes[1]).toBe(hashes[0])
})

test('an idempotency key is required if the contract requires it, and identifies one request', () => {
  const once: Contract = { ...contract, idempotencyKey: true }
  const read = (body: unknown, key?: string) =>
    parse(once, body, key === undefined ? {} : { 'idempotency-key': key })
  expect(read({ name: 'x' })).toEqual({ problem: { code: 'idempotency_key_required' } })
  expect(read({ name: 'x' }, 'with space')).toEqual({ problem: { code: 'idempotency_key_required' } })
  expect(read({ name: 'x' }, 'k'.repeat(256))).toEqual({ problem: { code: 'idempotency_key_required' } })
  const hashOf = (body: unknown) => {
    const answer = read(body, 'k1')
    return 'problem' in answer ? undefined : answer.idempotency?.requestHash.toString('hex')
  }
  expect(hashOf({ name: 'x' })).toBe(hashOf({ name: 'x' }))
  expect(hashOf({ name: 'x' })).not.toBe(hashOf({ name: 'y' }))
})

test.each([
  ['"7"', '7'],
  ['W/"7"', '7'],
])('If-Match %s names version %s', (header, version) => {
  expect(parse({ ...contract, ifMatch: true }, { name: 'x' }, { 'if-match': header })).toMatchObject({
    ifMatch: version,
  })
})

test.each([undefined, '7', '*', '"7", "8"'])('If-Match %s names no version', (header) => {
  const headers = header === undefined ? {} : { 'if-match': header }
  expect(parse({ ...contract, ifMatch: true }, { name: 'x' }, headers)).toEqual({
    problem: { code: 'precondition_required' },
  })
})

test('a body that nests too deeply to be written as text is refused like any other', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(30_000)}${']'.repeat(30_000)}`)
  const once: Contract = { ...contract, idempotencyKey: true }
  expect(parse(once, { name: deep }, { 'idempotency-key': 'k1' })).toMatchObject({
    problem: { code: 'validation_failed' },
  })
})
