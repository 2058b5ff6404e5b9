import { z } from 'zod'
import { portSetting, readEnvironment } from '#core/process/environment'
import { ignoreInspectorSignal } from '#core/process/inspector'
import { startDemoProvider } from './start-demo-provider.ts'

const envSchema = z.object({
  DEMO_PROVIDER_HOST: z.string().min(1).default('127.0.0.1'),
  DEMO_PROVIDER_PORT: portSetting.default(3003),
})

ignoreInspectorSignal()
try {
  const env = readEnvironment('the demo provider', envSchema, process.env)
  const provider = await startDemoProvider({ host: env.DEMO_PROVIDER_HOST, port: env.DEMO_PROVIDER_PORT })
  process.stdout.write(`${JSON.stringify({ baseUrl: provider.url, port: provider.port })}\n`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, async () => {
      await provider.drain()
      process.exit(0)
    })
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
