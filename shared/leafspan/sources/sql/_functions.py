"""Names of functions that only compute: what is not listed here may reach files, the network, settings or time itself."""

from __future__ import annotations

_EVERYWHERE = """
    abs acos asin atan atan2 avg ceil ceiling char char_length character_length chr coalesce concat concat_ws corr cos
    cot count covar_pop covar_samp cume_dist date_part degrees dense_rank exp first_value floor greatest grouping if
    ifnull initcap instr lag last_value lead least left length ln log log10 log2 lower lpad ltrim max md5 min mod
    nth_value ntile nullif octet_length percent_rank percentile_cont percentile_disc pi position pow power radians rank
    regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace reverse
    right round row_number rpad rtrim sign sin sqrt stddev stddev_pop stddev_samp string_agg substr substring sum tan
    translate trim trunc upper var_pop var_samp variance
"""

_SQLITE = """
    -> ->> acosh asinh atanh bm25 cosh date datetime format glob group_concat hex highlight iif json json_array
    json_array_length json_each json_error_position json_extract json_group_array json_group_object json_insert
    json_object json_patch json_quote json_remove json_replace json_set json_tree json_type json_valid jsonb jsonb_array
    jsonb_each jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert jsonb_object jsonb_patch jsonb_remove
    jsonb_replace jsonb_set jsonb_tree julianday like likelihood likely match median percentile printf quote random
    randomblob regexp sinh snippet soundex strftime tanh time timediff total typeof unhex unicode unixepoch unlikely
    zeroblob
"""

_POSTGRES = """
    all some row
    acosd acosh age any_value area array array_agg array_append array_cat array_dims array_fill array_length array_lower
    array_ndims array_position array_positions array_prepend array_remove array_replace array_reverse array_sample
    array_shuffle array_sort array_to_json array_to_string array_upper ascii asind asinh atan2d atand atanh bit_and
    bit_count bit_length bit_or bit_xor bool_and bool_or box btrim cardinality casefold cbrt center circle
    clock_timestamp cosd cosh cotd crc32 crc32c date date_bin date_range date_trunc daterange decode diagonal diameter
    div encode erf erfc every factorial format gamma gcd gen_random_uuid generate_series generate_subscripts get_bit
    get_byte height host hostmask inet_merge inet_same_family int4range int8range isclosed isempty isfinite isopen
    json_agg json_agg_strict json_array_elements json_array_elements_text json_array_length json_arrayagg
    json_build_array json_build_object json_each json_each_text json_extract_path json_extract_path_text json_object
    json_object_agg json_object_agg_strict json_object_agg_unique json_object_keys json_objectagg json_populate_record
    json_populate_recordset json_scalar json_strip_nulls json_to_record json_to_recordset json_typeof jsonb_agg
    jsonb_agg_strict jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array
    jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object
    jsonb_object_agg jsonb_object_keys jsonb_path_exists jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz
    jsonb_path_query jsonb_path_query_array jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz
    jsonb_path_query_tz jsonb_populate_record jsonb_populate_recordset jsonb_pretty jsonb_set jsonb_set_lax
    jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof justify_days justify_hours justify_interval lcm
    lgamma line lower_inc lower_inf lseg make_date make_interval make_time make_timestamp make_timestamptz masklen
    min_scale mode multirange netmask network normalize now npoints num_nonnulls num_nulls numnode numrange parse_ident
    path phraseto_tsquery plainto_tsquery point polygon querytree quote_ident quote_literal quote_nullable radius random
    random_normal range_agg range_intersect_agg range_merge regexp_count regexp_instr regexp_like regexp_match
    regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr row_to_json scale
    set_masklen setweight sha224 sha256 sha384 sha512 similarity sind sinh slope split_part starts_with
    statement_timestamp strict_word_similarity string_to_array string_to_table strip strpos tand tanh text time
    timeofday timestamp timestamptz to_ascii to_char to_date to_hex to_json to_jsonb to_number to_timestamp to_tsquery
    to_tsvector transaction_timestamp trim_array trim_scale ts_delete ts_filter ts_headline ts_rank ts_rank_cd
    tsquery_phrase tsrange tstzrange tsvector_to_array unaccent unnest upper_inc upper_inf varchar websearch_to_tsquery
    width width_bucket word_similarity
"""

_MYSQL = """
    adddate addtime any_value ascii bin bin_to_uuid bit_and bit_count bit_length bit_or bit_xor conv convert convert_tz
    crc32 curdate curtime date date_add date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear elt
    export_set extract field find_in_set format from_base64 from_days from_unixtime get_format group_concat hex hour
    inet_aton inet_ntoa insert is_uuid isnull json_array json_array_append json_array_insert json_arrayagg json_contains
    json_contains_path json_depth json_extract json_insert json_keys json_length json_merge_patch json_merge_preserve
    json_object json_objectagg json_overlaps json_pretty json_quote json_remove json_replace json_search json_set
    json_type json_unquote json_valid json_value last_day lcase locate make_set makedate maketime microsecond mid minute
    month monthname now oct ord period_add period_diff quarter quote rand regexp_instr regexp_like regexp_replace
    regexp_substr sec_to_time second sha sha1 sha2 soundex space std str_to_date strcmp subdate substring_index subtime
    sysdate time time_format time_to_sec timediff timestamp timestampadd timestampdiff to_base64 to_days to_seconds
    truncate ucase unhex unix_timestamp utc_date utc_time utc_timestamp uuid_to_bin week weekday weekofyear
    weight_string year yearweek
"""

_TSQL = """
    ascii atn2 cast charindex checksum choose compress convert count_big current_timestamp dateadd datediff datediff_big
    datefromparts datename datepart datetimefromparts datetrunc day decompress difference eomonth format getdate
    getutcdate iif isdate isjson isnull isnumeric json_query json_value len month nchar newid openjson parse patindex
    quotename rand replicate soundex space square stdev stdevp str string_escape string_split stuff switchoffset
    sysdatetime sysdatetimeoffset sysutcdatetime timefromparts todatetimeoffset try_cast try_convert try_parse unicode
    var varp year
"""

_ORACLE = """
    add_months ascii asciistr bitand cardinality decode dump extract from_tz hextoraw json_array json_arrayagg
    json_object json_objectagg json_query json_value last_day listagg lnnvl median months_between nanvl new_time
    next_day nls_lower nls_upper numtodsinterval numtoyminterval nvl nvl2 ora_hash rawtohex regexp_count regexp_instr
    regexp_like regexp_replace regexp_substr remainder soundex sysdate systimestamp to_char to_clob to_date
    to_dsinterval to_number to_timestamp to_timestamp_tz to_yminterval unistr vsize width_bucket
"""

_DUCKDB = """
    age any_value approx_count_distinct approx_quantile arg_max arg_min argmax argmin array_agg array_length
    array_to_string ascii bit_and bit_count bit_or bit_xor bool_and bool_or cbrt contains date_add date_diff date_sub
    date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear ends_with epoch epoch_ms
    even factorial first flatten format from_json gcd generate_series get_bit hash hour isfinite isinf isnan
    json_array_length json_contains json_extract json_extract_string json_group_array json_keys json_object json_type
    json_valid kurtosis last last_day lcm len levenshtein list list_aggregate list_avg list_contains list_distinct
    list_extract list_max list_min list_position list_sort list_sum list_unique make_date make_time make_timestamp
    median minute mode month monthname now prefix product quantile quantile_cont quantile_disc quarter random range
    regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace regexp_split_to_array second
    skewness split split_part starts_with stem strftime string_split strip_accents strlen strptime struct_extract suffix
    time_bucket to_base64 to_days to_hours to_json to_timestamp today typeof unicode unnest uuid week weekday weekofyear
    year yearweek
"""

_FURTHER = {
    "sqlite": _SQLITE,
    "postgres": _POSTGRES,
    "redshift": _POSTGRES,
    "mysql": _MYSQL,
    "tsql": _TSQL,
    "oracle": _ORACLE,
    "duckdb": _DUCKDB,
}


def harmless_functions(dialect: str) -> frozenset[str]:
    """The names, in lower case, of functions of a dialect that only compute."""
    return frozenset(_EVERYWHERE.split()) | frozenset(_FURTHER.get(dialect, "").split())
