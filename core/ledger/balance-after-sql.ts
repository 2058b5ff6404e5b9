/**
 * The balance of the organization after an entry, `entry` being its alias in SQL: that of its lane, and of the other lanes at
 * that moment. An organization with one lane has no runs.
 */
export function balanceAfterSql(entry: string): string {
  return `${entry}.balance_after + coalesce((select r.others_balance from lane_runs r
             where r.organization_id = ${entry}.organization_id and r.first_seq <= ${entry}.seq
             order by r.first_seq desc limit 1), 0)`
}
