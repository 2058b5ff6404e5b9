import { Counter, Gauge, type Registry } from 'prom-client'

export type MailMetrics = ReturnType<typeof createMailMetrics>

/** The worker's email metrics. Labels never identify recipients. */
export function createMailMetrics(registry: Registry) {
  const registers = [registry]
  return {
    sent: new Counter({
      name: 'model_gateway_emails_sent_total',
      help: 'Emails that the mail server accepted from this process.',
      labelNames: ['kind'] as const,
      registers,
    }),
    failedTries: new Counter({
      name: 'model_gateway_emails_failed_attempts_total',
      help: 'Failed attempts to send an email.',
      registers,
    }),
    givenUp: new Counter({
      name: 'model_gateway_emails_given_up_total',
      help: 'Emails given up, because the recipient was rejected or sending failed for three days.',
      labelNames: ['kind'] as const,
      registers,
    }),
    waiting: new Gauge({
      name: 'model_gateway_emails_waiting',
      help: 'Emails that are due and not sent yet.',
      registers,
    }),
    waitingAge: new Gauge({
      name: 'model_gateway_emails_waiting_age_seconds',
      help: 'How long the oldest unsent email has been due.',
      registers,
    }),
  }
}
