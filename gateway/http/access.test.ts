import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { guardRoutes } from './access.ts'

function guarded() {
  const app = Fastify({ exposeHeadRoutes: false })
  guardRoutes(app, {
    api_key: (request, reply, done) => {
      if (request.headers.authorization === undefined) reply.code(401).send()
      else done()
    },
  })
  return app
}

test('a route is reached by the access rule that it declares, before its own hooks', async () => {
  const app = guarded()
  const reached: string[] = []
  app.get('/kept', {
    config: { access: 'api_key' },
    onRequest: async () => void reached.push('hook'),
    handler: async () => reached.push('handler'),
  })
  expect((await app.inject('/kept')).statusCode).toBe(401)
  expect(reached).toEqual([])
  expect((await app.inject({ url: '/kept', headers: { authorization: 'any' } })).statusCode).toBe(200)
  expect(reached).toEqual(['hook', 'handler'])
})

test('a route for anyone needs no key', async () => {
  const app = guarded()
  app.get('/probe', { config: { access: 'anyone' } }, async () => 'here')
  expect((await app.inject('/probe')).statusCode).toBe(200)
})

test('a route that declares no access rule cannot be added', () => {
  expect(() => guarded().get('/open', async () => 'open')).toThrow('/open does not declare who may call it')
})
