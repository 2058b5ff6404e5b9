import { expect, test } from 'vitest'
import { UnwrittenSignatures } from './unwritten-signatures.ts'

const thought = { type: 'reasoning.text', index: 0 }

test('the pieces of a detail are one, and nothing is written before its signature', () => {
  const signatures = new UnwrittenSignatures()
  signatures.addDetails([{ ...thought, text: 'One ' }])
  signatures.addDetails([{ ...thought, text: 'two' }])
  expect(signatures.unshownText()).toBe('One two')
  expect(signatures.unshownText()).toBe('')
  expect(signatures.take('mark')).toBeUndefined()
  signatures.addDetails([{ ...thought, text: null, signature: 'signed' }])
  const detail = { ...thought, text: 'One two', signature: 'signed' }
  expect(signatures.take('mark')).toEqual({ origin: 'mark', details: [detail], calls: {}, content: null })
  expect(signatures.take('mark')).toBeUndefined()
})

test('details of one place but another type are apart', () => {
  const signatures = new UnwrittenSignatures()
  const hidden = { type: 'reasoning.encrypted', index: 0, data: 'x' }
  signatures.addDetails([{ ...thought, text: 'One' }, hidden, { ...hidden, data: 'y' }])
  const { details } = signatures.take('mark') ?? expect.fail('something is encrypted')
  expect(details).toEqual([
    { ...thought, text: 'One' },
    { ...hidden, data: 'xy' },
  ])
})

test('signatures of calls and texts do not wait for reasoning', () => {
  const signatures = new UnwrittenSignatures()
  signatures.addDetails([{ ...thought, text: 'One' }])
  signatures.addCall('__proto__', { google: { thought_signature: 's' } })
  signatures.addContent({ google: { thought_signature: 't' } })
  const taken = signatures.take('mark')
  expect(Object.entries(taken?.calls ?? {})).toEqual([['__proto__', { google: { thought_signature: 's' } }]])
  expect(taken).toMatchObject({ details: [], content: { google: { thought_signature: 't' } } })
})
