-- What a model was used for in a week, and what it has cost over time, without reading all models.
create index on usage_hourly (model, hour);
create index on model_prices (model, seq desc);
