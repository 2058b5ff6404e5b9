import type { RouteTable } from './route-table.ts'

const page = (ru: string, en: string) => ({ title: { ru, en } })

/**
 * Every page of administration, which the administration process serves at its own address. Those below `/app` need an
 * administrator's session.
 */
export const administrationRoutes = {
  '/': page('Администрирование', 'Administration'),
  '/login': page('Вход для администраторов', 'Administrator sign-in'),
  '/setup': page('Настройка доступа', 'Set up your access'),
  '/app': page('Поиск', 'Search'),
  '/app/customers/:organization_id': page('Клиент', 'Customer'),
  '/app/customers/:organization_id/requests/:request_id': page('Запрос', 'Request'),
  '/app/models': page('Модели и цены', 'Models and prices'),
  '/app/models/*': page('Модель', 'Model'),
  '/app/providers': page('Провайдеры', 'Providers'),
  '/app/providers/*': page('Провайдер', 'Provider'),
  '/app/operations': page('Состояние', 'Operations'),
  '/app/payments': page('Платежи', 'Payments'),
  '/app/approvals': page('Подтверждения', 'Approvals'),
  '/app/differences': page('Расхождения', 'Differences'),
  '/app/webhooks': page('Уведомления', 'Notifications'),
  '/app/audit': page('Журнал', 'Audit log'),
  '/app/legal': page('Документы и согласия', 'Documents and consents'),
  '/app/account': page('Мой доступ', 'My access'),
} as const satisfies RouteTable

export type AdministrationPath = keyof typeof administrationRoutes

/** The sections of the page of operations, as anchors of its address. Runbooks link to them. */
export const operationSections = [
  'money',
  'rejected-charges',
  'differences',
  'webhooks',
  'emails',
  'invariants',
  'audit-chain',
  'backlog',
  'gateways',
] as const

export type OperationSection = (typeof operationSections)[number]
