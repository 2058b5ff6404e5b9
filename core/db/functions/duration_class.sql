-- Defined by migrations/0077-usage-by-provider.sql; change it by a new migration.
--
-- The class of a duration: ten for each power of ten, from 10 ms to 1,000 s. The pages have the same limits.
CREATE OR REPLACE FUNCTION public.duration_class(ms bigint)
 RETURNS smallint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (width_bucket(ms, '{10,13,16,20,25,32,40,50,63,79,100,126,158,200,251,316,398,501,631,794,1000,1259,1585,1995,2512,3162,3981,5012,6310,7943,10000,12589,15849,19953,25119,31623,39811,50119,63096,79433,100000,125893,158489,199526,251189,316228,398107,501187,630957,794328,1000000}'::bigint[]))::smallint;
