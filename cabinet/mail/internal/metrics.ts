import { Counter, Gauge, type Registry } from 'prom-client'

export type MailMetrics = ReturnType<typeof createMailMetrics>

/** What the worker tells about letters. No label says whose they are. */
export function createMailMetrics(registry: Registry) {
  const registers = [registry]
  return {
    sent: new Counter({
      name: 'model_gateway_letters_sent_total',
      help: 'Letters that the mail server accepted from this process.',
      labelNames: ['kind'] as const,
      registers,
    }),
    failedTries: new Counter({
      name: 'model_gateway_letters_failed_tries_total',
      help: 'Tries to send a letter that failed.',
      registers,
    }),
    givenUp: new Counter({
      name: 'model_gateway_letters_given_up_total',
      help: 'Letters that will not be sent: their recipient was refused, or they failed for three days.',
      labelNames: ['kind'] as const,
      registers,
    }),
    waiting: new Gauge({
      name: 'model_gateway_letters_waiting',
      help: 'Letters that are not sent yet.',
      registers,
    }),
    waitingAge: new Gauge({
      name: 'model_gateway_letters_waiting_age_seconds',
      help: 'Age of the oldest letter that is not sent yet.',
      registers,
    }),
  }
}
