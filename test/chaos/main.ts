import { parseArgs } from 'node:util'
import { z } from 'zod'
import { runChaos } from './chaos.ts'
import { formatReport, jsonOf } from './report.ts'

/** `npm run chaos -- --seed 7 --seconds 240`; `docs/contribute/testing.md` describes it. */
const whole = z.coerce.number().int().positive()
const optionsSchema = z.object({
  seed: z.coerce
    .number()
    .int()
    .nonnegative()
    .default(() => Date.now() % 1_000_000),
  requests: whole.default(Number.MAX_SAFE_INTEGER),
  seconds: whole.optional(),
  'faults-every-ms': z
    .string()
    .regex(/^\d+-\d+$/)
    .default('3000-10000')
    .transform((text): readonly [number, number] => {
      const [least = 0, most = 0] = text.split('-').map(Number)
      return [least, Math.max(least, most)]
    }),
  'freeze-max-ms': whole.default(30_000),
  rate: whole.default(30),
  'renew-ms': whole.default(1_000),
  'lease-ms': whole.default(4_000),
  cluster: z.boolean().default(false),
})

const secondsDefault = 240

const text = { type: 'string' } as const
const { values } = parseArgs({
  options: {
    seed: text,
    requests: text,
    seconds: text,
    'faults-every-ms': text,
    'freeze-max-ms': text,
    rate: text,
    'renew-ms': text,
    'lease-ms': text,
    cluster: { type: 'boolean' },
  },
})
const options = optionsSchema.parse(values)
// A fixed number of requests takes as long as it takes.
const secondsMax =
  options.seconds ?? (values.requests === undefined ? secondsDefault : Number.POSITIVE_INFINITY)
const say = (line: string) => void process.stdout.write(`${line}\n`)

// Everything that was started ends with this process, if only it ends by an exit.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(130))

say(`seed ${options.seed}`)
const report = await runChaos({
  seed: options.seed,
  redis: options.cluster ? 'cluster' : 'single',
  requestsMax: options.requests,
  secondsMax,
  faultsEveryMs: options['faults-every-ms'],
  freezeMsMax: options['freeze-max-ms'],
  ratePerS: options.rate,
  renewEveryMs: options['renew-ms'],
  leaseMs: options['lease-ms'],
  say,
})
say(formatReport(report))
say(jsonOf(report))
if (report.violations.length > 0) process.exitCode = 1
