import type { Pool } from 'pg'
import { Gauge, type Registry } from 'prom-client'
import type { TrialRules } from '#core/ledger/trial-settings'
import type { Job } from '#core/process/job'

const everyMs = 30_000
const nanoPerRub = 1e9

type Today = {
  readonly granted: bigint
  readonly forDomain: number
  readonly forDailyTotal: number
}

/** Measures the cost of today's trials (UTC), and how many were withheld. */
export function trialJob(pool: Pool, registry: Registry, { dailyMax }: Pick<TrialRules, 'dailyMax'>): Job {
  const registers = [registry]
  const granted = new Gauge({
    name: 'model_gateway_trial_credit_granted_rub',
    help: 'Total of trials granted since midnight UTC, in rubles.',
    registers,
  })
  const limit = new Gauge({
    name: 'model_gateway_trial_credit_daily_limit_rub',
    help: 'Limit of trials granted in a day, in rubles: TRIAL_DAILY_RUB.',
    registers,
  })
  const withheld = new Gauge({
    name: 'model_gateway_trials_withheld',
    help: 'Trials withheld since midnight UTC, by reason: domain (three a day for one domain), daily_total.',
    labelNames: ['reason'] as const,
    registers,
  })
  limit.set(Number(dailyMax) / nanoPerRub)
  return {
    name: 'trials',
    everyMs,
    mayFail: true,
    async run() {
      const { rows } = await pool.query<Today>(
        `select granted, withheld_for_domain as "forDomain", withheld_for_daily_total as "forDailyTotal"
           from trials_of_today()`,
      )
      const [today] = rows
      if (today === undefined) throw new Error('Postgres returned no totals of trials')
      granted.set(Number(today.granted) / nanoPerRub)
      withheld.set({ reason: 'domain' }, today.forDomain)
      withheld.set({ reason: 'daily_total' }, today.forDailyTotal)
      return 'idle'
    },
  }
}
