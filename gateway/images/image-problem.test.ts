import { expect, test } from 'vitest'
import { tooManyBodies } from '../wire/errors.ts'
import { imageProblem, refusalOfImage } from './image-problem.ts'

test('a rejection names the field, what failed and what to do', () => {
  const param = 'messages[0].content[1].image_url.url'
  expect(refusalOfImage(param, imageProblem('address_not_public'))).toMatchObject({
    status: 400,
    code: 'invalid_value',
    param,
    message: `${param} cannot be fetched: its host has no public IP address. Use a URL that is reachable from the internet, or send the image as a base64 data URL.`,
  })
})

test('the status that a server returned is in the message', () => {
  const { message } = refusalOfImage('x', { outcome: 'failed', reason: 'status_not_ok', status: 404 })
  expect(message).toContain('its server returned status 404')
})

test('if the memory for bodies is full, the rejection is that of bodies', () => {
  expect(refusalOfImage('x', { outcome: 'failed', reason: 'no_memory', refusal: tooManyBodies })).toBe(
    tooManyBodies,
  )
})
