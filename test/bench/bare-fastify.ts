import { createBareApp, forward, listen } from './bare-app.ts'

/** What ours is measured against: a Fastify 5 proxy that does nothing but forward. */
const app = createBareApp()
app.all('/*', async (request, reply) => {
  const answer = await forward(request)
  reply.code(answer.statusCode).header('content-type', answer.headers['content-type'])
  if (answer.headers['content-length']) reply.header('content-length', answer.headers['content-length'])
  return reply.send(answer.body)
})
await listen(app)
