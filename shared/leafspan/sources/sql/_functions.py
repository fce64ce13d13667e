"""Functions that only compute. A function that is not listed may reach files, the network, settings or the clock."""

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

_FURTHER = {"sqlite": _SQLITE, "postgres": _POSTGRES}


def harmless_functions(dialect: str) -> frozenset[str]:
    """The names, in lower case, of a dialect's functions that only compute."""
    return frozenset(_EVERYWHERE.split()) | frozenset(_FURTHER[dialect].split())
