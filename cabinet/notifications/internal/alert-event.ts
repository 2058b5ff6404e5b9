/** What an alert reports. Amounts are decimals of rubles. */
export type AlertEvent =
  | { readonly type: 'test'; readonly data: OfOrganization }
  | {
      readonly type: 'balance.low'
      readonly data: OfOrganization & { readonly balance_rub: string; readonly threshold_rub: string }
    }
  | {
      readonly type: 'spend.spike'
      /** `day`: in the organization's time zone. `median_rub`: of the seven days before. */
      readonly data: OfOrganization & {
        readonly day: string
        readonly spent_rub: string
        readonly median_rub: string
      }
    }
  | {
      readonly type: 'budget.reached'
      readonly data: OfOrganization & {
        /** null: the budget of the organization. */
        readonly key_id: string | null
        readonly key_name: string | null
        readonly budget: 'daily' | 'weekly' | 'monthly' | 'total'
        /** The first day of the window; null: the budget has no windows. */
        readonly window_start: string | null
        readonly percent: number
        readonly spent_rub: string
        readonly budget_rub: string
      }
    }

type OfOrganization = { readonly organization_id: string }
